! SPDX-License-Identifier: Apache-2.0
! The main thread initialises what all threads then work on in blocks.
! label: a = serial first touch
program labelled
  implicit none
  integer, parameter :: n = 2**17
  real(8), allocatable :: a(:)
  integer :: i, sweep
  allocate(a(n))
  do i = 1, n
    a(i) = i
  end do
  do sweep = 1, 6
    !$omp parallel do schedule(static)
    do i = 1, n
      a(i) = 0.5d0 * a(i) + 1.0d0
    end do
    !$omp end parallel do
  end do
  print *, a(1000)
end program
