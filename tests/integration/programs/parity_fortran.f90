! SPDX-License-Identifier: Apache-2.0
! A module's array and an allocatable, for comparing recorders.
module parity_data
   implicit none
   integer, parameter :: words = 32*512
   real(8) :: weights(words)
end module parity_data

program main
   use parity_data
   implicit none
   real(8), allocatable :: field(:)
   integer :: i, round

   allocate (field(words))
   do i = 1, words
      field(i) = i
      weights(i) = 2*i
   end do
   do round = 1, 5
      do i = 1, words
         field(i) = field(i) + weights(i)*1d-9
      end do
   end do
   print *, field(100)
   deallocate (field)
end program main
