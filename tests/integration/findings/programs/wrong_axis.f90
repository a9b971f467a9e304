! SPDX-License-Identifier: Apache-2.0
! A column is a page, and each thread has a quarter of every column.
! label: m = page-level false sharing
program labelled
  implicit none
  integer, parameter :: rows = 512, columns = 256
  real(8), allocatable :: m(:, :)
  integer :: i, j, sweep
  allocate(m(rows, columns))
  do sweep = 1, 6
    !$omp parallel do schedule(static) private(j)
    do i = 1, rows
      do j = 1, columns
        m(i, j) = merge(dble(i), 0.5d0 * m(i, j) + 1.0d0, sweep == 1)
      end do
    end do
    !$omp end parallel do
  end do
  print *, m(100, 100)
end program
