! SPDX-License-Identifier: Apache-2.0
! A parallel loop that runs three times, and a mark that a C function sets.
module storage
  implicit none
  integer, parameter :: n = 4096
  real(8), save :: field(n)
end module

program phases
  use iso_c_binding
  use storage
  implicit none
  interface
    subroutine phase(name) bind(C)
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine write_strided(base, count, stride) bind(C)
      import :: c_double, c_long
      real(c_double) :: base(*)
      integer(c_long), value :: count, stride
    end subroutine
  end interface
  integer :: i, step
  do step = 1, 3
    !$omp parallel do num_threads(2) schedule(static) ! region: steps
    do i = 1, n, 512
      call write_strided(field(i:), 512_c_long, 8_c_long)
    end do
  end do
  call phase("marked" // c_null_char)
  call write_strided(field, 512_c_long, 8_c_long)
end program
