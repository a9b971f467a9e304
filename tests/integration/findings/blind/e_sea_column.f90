! SPDX-License-Identifier: Apache-2.0
! Mixing of heat and salt in the columns of a sea model. A restart is read by one thread:
! temperature and salinity are assigned level by level, outside of any parallel region, so all of
! their pages are on one node. The columns are then divided among the threads, always in the same
! way. The density is only computed from them; the loop that clears it is parallel and right.
! label: temperature = serial first touch
! action: temperature = local
! label: salinity = serial first touch
! action: salinity = local
! label: density = partitioned
module sea
   implicit none
   integer, parameter :: levels = 64, columns = 12000
   real(8), allocatable :: temperature(:, :), salinity(:, :), density(:, :)

contains

   subroutine read_restart()
      integer :: level
      allocate (temperature(levels, columns), salinity(levels, columns), density(levels, columns))
      do level = 1, levels
         temperature(level, :) = 20.0d0 - 0.25d0*level
         salinity(level, :) = 34.0d0 + 0.02d0*mod(level*7, 13)
      end do
   end subroutine read_restart

   subroutine clear_density()
      integer :: column
!$omp parallel do schedule(static)
      do column = 1, columns
         density(:, column) = 0
      end do
   end subroutine clear_density

   subroutine mix(column, tracer)
      integer, intent(in) :: column
      real(8), intent(inout) :: tracer(levels)
      real(8) :: flux(0:levels)
      integer :: level
      flux(0) = 0.001d0*mod(column, 5)
      flux(levels) = 0
      do level = 1, levels - 1
         flux(level) = 0.1d0*(tracer(level) - tracer(level + 1))
      end do
      do level = 1, levels
         tracer(level) = tracer(level) + flux(level - 1) - flux(level)
      end do
   end subroutine mix

   subroutine advance()
      integer :: column, level
!$omp parallel do schedule(static) private(level)
      do column = 1, columns
         call mix(column, temperature(:, column))
         call mix(column, salinity(:, column))
         do level = 1, levels
            density(level, column) = 1000 - 0.2d0*temperature(level, column) &
                                     + 0.8d0*salinity(level, column)
         end do
      end do
   end subroutine advance

end module sea

program sea_column
   use sea
   implicit none
   integer :: step, column
   real(8) :: total
   call read_restart()
   call clear_density()
   do step = 1, 40
      call advance()
   end do
   total = 0
!$omp parallel do schedule(static) reduction(+:total)
   do column = 1, columns
      total = total + sum(density(:, column))
   end do
   print '(a, f18.6)', 'mean density', total/(levels*columns)
end program sea_column
