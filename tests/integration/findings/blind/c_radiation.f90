! SPDX-License-Identifier: Apache-2.0
! Computes radiation in the columns of an atmosphere, for two time steps.
! Start values and physics have the same static division of the columns. Columns in sunlight are one quarter of all,
! lie side by side, and need six sweeps for scattering, where the others need one.
! In a sweep, each level depends on the level above it.
! label: temperature = partitioned
! action: temperature = none
! harm: temperature = spread
! label: flux = partitioned
! action: flux = none
! harm: flux = spread
! label: run = load imbalance
! action: run = balance
module atmosphere
   use, intrinsic :: iso_fortran_env, only: real64
   implicit none
   integer, parameter :: levels = 64, columns = 32768
   real(real64), allocatable :: temperature(:, :), flux(:, :)
contains
   subroutine start()
      integer :: c, k
      allocate (temperature(levels, columns), flux(levels, columns))
      !$omp parallel do schedule(static) private(k)
      do c = 1, columns
         do k = 1, levels
            temperature(k, c) = 220.0_real64 + real(k + mod(c, 7), real64)
            flux(k, c) = 0.0_real64
         end do
      end do
      !$omp end parallel do
   end subroutine start

   pure logical function sunlit(c)
      integer, intent(in) :: c
      sunlit = c > columns/4 .and. c <= columns/2
   end function sunlit

   subroutine radiate()
      integer :: c, k, sweep, sweeps
      real(real64) :: down
      !$omp parallel do schedule(static) private(k, sweep, sweeps, down)
      do c = 1, columns
         sweeps = merge(6, 1, sunlit(c))
         do sweep = 1, sweeps
            down = 340.0_real64
            do k = 1, levels
               down = 0.97_real64*down + 0.01_real64*temperature(k, c)
               flux(k, c) = 0.5_real64*(flux(k, c) + down)
            end do
         end do
         do k = 2, levels
            temperature(k, c) = temperature(k, c) + 0.001_real64*(flux(k - 1, c) - flux(k, c))
         end do
      end do
      !$omp end parallel do
   end subroutine radiate
end module atmosphere

program radiation
   use atmosphere
   implicit none
   integer :: step
   call start()
   do step = 1, 2
      call radiate()
   end do
   print '(a, 2f14.6)', 'flux and temperature at noon: ', flux(levels, columns*3/8), temperature(levels, columns*3/8)
end program radiation
