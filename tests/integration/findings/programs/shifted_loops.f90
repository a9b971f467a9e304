! SPDX-License-Identifier: Apache-2.0
! Two loops in turn, and the second begins in the middle: each page has two owners.
! label: a = pages change users
program labelled
  implicit none
  integer, parameter :: n = 2**17
  real(8), allocatable :: a(:)
  integer :: i, sweep
  allocate(a(n))
  a = 1.0d0
  do sweep = 1, 6
    !$omp parallel do schedule(static)
    do i = 1, n
      a(i) = 0.5d0 * a(i) + 1.0d0
    end do
    !$omp end parallel do
    !$omp parallel do schedule(static)
    do i = 1, n
      a(1 + mod(i - 1 + n / 2, n)) = 0.25d0 * a(1 + mod(i - 1 + n / 2, n)) + 2.0d0
    end do
    !$omp end parallel do
  end do
  print *, a(1000)
end program
