! SPDX-License-Identifier: Apache-2.0
! A trap: two pages of constants, initialised serially and read by all.
! label: a = partitioned
! label: factors = cache-resident
! label: run = no NUMA problem
program labelled
  implicit none
  integer, parameter :: n = 2**17, few = 1024
  real(8), allocatable :: a(:), factors(:)
  integer :: i, sweep
  allocate(a(n), factors(few))
  factors = 0.5d0
  do sweep = 1, 6
    !$omp parallel do schedule(static)
    do i = 1, n
      if (sweep == 1) a(i) = i
      a(i) = a(i) * factors(1 + mod(i, few)) + 1.0d0
    end do
    !$omp end parallel do
  end do
  print *, a(1000)
end program
