! SPDX-License-Identifier: Apache-2.0
! Chemistry in the cells of an atmosphere, ordered by longitude. The first third is in sunlight: its
! reactions are fast and need 24 short steps where the night needs one. The static schedule gives
! all threads equally many cells, so the threads in the sunlight do nearly all of the work. The
! concentrations are right: each thread initialised the cells that it computes.
! label: run = load imbalance
! action: run = balance
! label: species = partitioned
module chemistry
   implicit none
   integer, parameter :: cells = 120000, kinds = 12, sunlit = cells/3
   real(8), allocatable :: species(:, :)

contains

   subroutine start()
      integer :: cell, kind
      allocate (species(kinds, cells))
!$omp parallel do schedule(static) private(kind)
      do cell = 1, cells
         do kind = 1, kinds
            species(kind, cell) = 1.0d0 + 0.01d0*mod(cell + kind*7, 23)
         end do
      end do
   end subroutine start

   subroutine react(concentration, step)
      real(8), intent(inout) :: concentration(kinds)
      real(8), intent(in) :: step
      integer :: kind
      real(8) :: produced
      do kind = 1, kinds - 1
         produced = step*0.3d0*concentration(kind)*concentration(kind + 1)
         concentration(kind) = concentration(kind) - produced
         concentration(kind + 1) = concentration(kind + 1) + 0.9d0*produced
      end do
      concentration(1) = concentration(1) + step*0.1d0
   end subroutine react

   subroutine advance()
      integer :: cell, part
!$omp parallel do schedule(static) private(part)
      do cell = 1, cells
         if (cell <= sunlit) then
            do part = 1, 24
               call react(species(:, cell), 0.01d0/24)
            end do
         else
            call react(species(:, cell), 0.01d0)
         end if
      end do
   end subroutine advance

end module chemistry

program ozone_cells
   use chemistry
   implicit none
   integer :: hour, cell
   real(8) :: total
   call start()
   do hour = 1, 12
      call advance()
   end do
   total = 0
   do cell = 1, cells, 7
      total = total + species(3, cell)
   end do
   print '(a, f18.6)', 'ozone', total
end program ozone_cells
