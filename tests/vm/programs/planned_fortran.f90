! SPDX-License-Identifier: Apache-2.0
! Arrays of Fortran's kinds, touched first by the main program.
module fields
   use, intrinsic :: iso_c_binding
   implicit none
   integer, parameter :: words = 64*512
   real(8), target :: module_array(words)
   interface
      subroutine report_nodes(name, start, bytes) bind(c)
         import :: c_char, c_ptr, c_size_t
         character(kind=c_char) :: name(*)
         type(c_ptr), value :: start
         integer(c_size_t), value :: bytes
      end subroutine report_nodes
   end interface
end module fields

program main
   use fields
   implicit none
   real(8), allocatable, target :: u(:), v(:), w(:, :)
   integer(c_size_t), parameter :: bytes = words*8

   allocate (u(words), v(words))
   allocate (w(512, 64))
   u = 1
   v = 2
   w = 3
   module_array = 4
   call report_nodes("u"//c_null_char, c_loc(u), bytes)
   call report_nodes("v"//c_null_char, c_loc(v), bytes)
   call report_nodes("w"//c_null_char, c_loc(w), bytes)
   call report_nodes("fields::module_array"//c_null_char, c_loc(module_array), bytes)
   deallocate (u, v, w)
end program main
