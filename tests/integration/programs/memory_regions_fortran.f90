! SPDX-License-Identifier: Apache-2.0
! Two columns of a work array, named by calls of C functions.
program memory_regions
  use iso_c_binding
  implicit none
  interface
    subroutine region(name, address, bytes) bind(C)
      import :: c_char, c_ptr, c_size_t
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: address
      integer(c_size_t), value :: bytes
    end subroutine
    subroutine write_strided(base, count, stride) bind(C)
      import :: c_double, c_long
      real(c_double) :: base(*)
      integer(c_long), value :: count, stride
    end subroutine
  end interface
  integer, parameter :: words = 512, pages = 8
  real(8), allocatable, target :: work(:)
  integer :: first
  allocate (work(32 * words))
  first = 1 + int(mod(4096_c_intptr_t - mod(transfer(c_loc(work(1)), 0_c_intptr_t), &
                                            4096_c_intptr_t), 4096_c_intptr_t) / 8)
  call region("density" // c_null_char, c_loc(work(first)), int(pages * words * 8, c_size_t))
  call region("energy" // c_null_char, c_loc(work(first + pages * words)), &
              int(pages * words * 8, c_size_t))
  call write_strided(work(first:), int(pages * words, c_long), 8_c_long)
  call write_strided(work(first + pages * words:), int(pages * words / 2, c_long), 8_c_long)
end program
