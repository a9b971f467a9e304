! SPDX-License-Identifier: Apache-2.0
! Arrays on stacks: of a subroutine, and one whose size is an argument; compiled with -fstack-arrays.
module fields
  use iso_c_binding
  implicit none
  integer, parameter :: words = 512, pages = 8, room = (pages + 1) * words
  interface
    subroutine write_strided(base, count, stride) bind(C)
      import :: c_long, c_ptr
      type(c_ptr), value :: base
      integer(c_long), value :: count, stride
    end subroutine
  end interface
contains
  subroutine write_pages(array)
    real(8), target, intent(inout) :: array(room)
    integer(c_intptr_t) :: start
    start = transfer(c_loc(array(1)), start)
    start = (start + 4095_c_intptr_t) / 4096_c_intptr_t * 4096_c_intptr_t
    call write_strided(transfer(start, c_null_ptr), int(pages * words, c_long), 8_c_long)
  end subroutine
  subroutine fixed()
    real(8) :: velocity(room)
    call write_pages(velocity)
  end subroutine
  subroutine sized(n)
    integer, intent(in) :: n
    real(8) :: pressure(n)
    call write_pages(pressure)
  end subroutine
end module

program stack_arrays_fortran
  use fields
  call fixed()
  call sized(room)
end program
