! SPDX-License-Identifier: Apache-2.0
! All threads gather from everywhere in one array, and write to their parts of another.
! label: m = shared, read-mostly
! label: y = partitioned
program labelled
  implicit none
  integer, parameter :: n = 2**17, rows = 12
  real(8), allocatable :: m(:), y(:)
  integer :: i, row, state
  allocate(m(n), y(n))
  do i = 1, n
    m(i) = i
  end do
  !$omp parallel do schedule(static) private(row, state)
  do i = 1, n
    y(i) = 0.0d0
    state = i
    do row = 1, rows
      state = iand(state * 1103515 + 12345, 2147483647)
      y(i) = y(i) + m(1 + mod(state / 64, n))
    end do
  end do
  !$omp end parallel do
  print *, y(1000)
end program
