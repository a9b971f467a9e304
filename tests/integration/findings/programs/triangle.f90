! SPDX-License-Identifier: Apache-2.0
! Two causes: a serial initialisation, and columns of a triangle in equal numbers.
! label: m = serial first touch
! label: run = load imbalance
program labelled
  implicit none
  integer, parameter :: n = 512
  real(8), allocatable :: m(:, :)
  integer :: i, j, sweep
  allocate(m(n, n))
  m = 1.0d0
  do sweep = 1, 8
    !$omp parallel do schedule(static) private(i)
    do j = 1, n
      do i = 1, j
        m(i, j) = 0.5d0 * m(i, j) + 1.0d0
      end do
    end do
    !$omp end parallel do
  end do
  print *, m(1, 100)
end program
