! SPDX-License-Identifier: Apache-2.0
! Heat in a plate, with two fields whose pointers change roles after each step. Both fields are
! initialised in a parallel loop over the same columns as the steps, with the same schedule. Only
! columns at the borders of the parts are read by a second thread. So each page has one user, who
! touched it first; that a page is read in one step and written in the next changes nothing.
! label: run = no NUMA problem
! action: run = none
! label: now = partitioned
! label: next = partitioned
module plate
   implicit none
   integer, parameter :: rows = 1024, columns = 1200

contains

   subroutine start(field)
      real(8), intent(out) :: field(rows, 0:columns + 1)
      integer :: column, row
      field(:, 0) = 20
      field(:, columns + 1) = 5
!$omp parallel do schedule(static) private(row)
      do column = 1, columns
         do row = 1, rows
            field(row, column) = mod(row*3 + column*5, 17)
         end do
      end do
   end subroutine start

   subroutine advance(old, new)
      real(8), intent(in) :: old(rows, 0:columns + 1)
      real(8), intent(inout) :: new(rows, 0:columns + 1)
      integer :: column, row
!$omp parallel do schedule(static) private(row)
      do column = 1, columns
         do row = 2, rows - 1
            new(row, column) = 0.2d0*old(row, column) &
                               + 0.2d0*(old(row - 1, column) + old(row + 1, column)) &
                               + 0.2d0*(old(row, column - 1) + old(row, column + 1))
         end do
      end do
   end subroutine advance

end module plate

program heat_swap
   use plate
   implicit none
   real(8), pointer, contiguous :: now(:, :), next(:, :), swapped(:, :)
   integer :: step, column
   real(8) :: total
   allocate (now(rows, 0:columns + 1), next(rows, 0:columns + 1))
   call start(now)
   call start(next)
   do step = 1, 50
      call advance(now, next)
      swapped => now
      now => next
      next => swapped
   end do
   total = 0
!$omp parallel do schedule(static) reduction(+:total)
   do column = 1, columns
      total = total + sum(now(:, column))
   end do
   print '(a, f18.6)', 'mean heat', total/(rows*columns)
   deallocate (now, next)
end program heat_swap
