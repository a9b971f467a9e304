! SPDX-License-Identifier: Apache-2.0
! A COMMON block of which each thread has its own copy (threadprivate).
program thread_variables_fortran
  !$omp parallel num_threads(2)
  call fill(9.0d0)
  !$omp end parallel
end program

subroutine fill(value)
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
  real(8), intent(in) :: value
  real(8), target :: small(48), large(room)
  integer(c_intptr_t) :: start
  common /work/ small, large
  !$omp threadprivate(/work/)
  small(1) = value
  start = transfer(c_loc(large(1)), start)
  start = (start + 4095_c_intptr_t) / 4096_c_intptr_t * 4096_c_intptr_t
  call write_strided(transfer(start, c_null_ptr), int(pages * words, c_long), 8_c_long)
end subroutine
