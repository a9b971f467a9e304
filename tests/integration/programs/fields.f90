! SPDX-License-Identifier: Apache-2.0
! Fortran's ways to hold an array: allocatable, allocatable component, module, COMMON and saved.
! The loops are those of kernels.S, so that the counts are known.
module fields
   use, intrinsic :: iso_c_binding
   implicit none
   integer, parameter :: words = 64*512
   real(8), target :: module_array(words)
   real(8), allocatable, target :: module_allocatable(:)
   type :: grid_type
      real(8), allocatable :: component(:)
   end type grid_type
   interface
      subroutine write_strided(base, count, stride) bind(c)
         import :: c_long, c_ptr
         type(c_ptr), value :: base
         integer(c_long), value :: count, stride
      end subroutine write_strided
      subroutine read_strided(base, count, stride) bind(c)
         import :: c_long, c_ptr
         type(c_ptr), value :: base
         integer(c_long), value :: count, stride
      end subroutine read_strided
   end interface
end module fields

program main
   use fields
   implicit none
   real(8), allocatable, target :: local(:, :)
   type(grid_type), target :: grid
   real(8), save, target :: saved(words)

   allocate (local(512, 64))
   allocate (module_allocatable(words))
   allocate (grid%component(words))
   call write_strided(c_loc(local), int(words, c_long), 8_c_long)
   call read_strided(c_loc(module_allocatable), int(words, c_long), 8_c_long)
   call write_strided(c_loc(grid%component), int(words/2, c_long), 16_c_long)
   call write_strided(c_loc(module_array), int(words, c_long), 8_c_long)
   call write_strided(c_loc(saved), int(words/4, c_long), 32_c_long)
   call use_common_block()
   deallocate (local, module_allocatable, grid%component)
end program main

subroutine use_common_block()
   use fields
   implicit none
   real(8), target :: common_first, common_second
   common /block/ common_first(words), common_second(words)

   call write_strided(c_loc(common_first), int(words, c_long), 8_c_long)
   call read_strided(c_loc(common_second), int(words, c_long), 8_c_long)
end subroutine use_common_block
