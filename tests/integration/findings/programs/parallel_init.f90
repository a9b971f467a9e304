! SPDX-License-Identifier: Apache-2.0
! Initialised in parallel, worked on with the same division: nothing to do.
! label: a = partitioned
! label: run = no NUMA problem
program labelled
  implicit none
  integer, parameter :: n = 2**17
  real(8), allocatable :: a(:)
  integer :: i, sweep
  allocate(a(n))
  !$omp parallel do schedule(static)
  do i = 1, n
    a(i) = i
  end do
  !$omp end parallel do
  do sweep = 1, 6
    !$omp parallel do schedule(static)
    do i = 1, n
      a(i) = 0.5d0 * a(i) + 1.0d0
    end do
    !$omp end parallel do
  end do
  print *, a(1000)
end program
