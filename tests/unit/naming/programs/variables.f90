! SPDX-License-Identifier: Apache-2.0
module state
  implicit none
  real(8) :: u(100, 10)
  integer :: steps = 3
end module

subroutine coarse()
  implicit none
  real(8) :: whole(300)
  common /block/ whole
  whole(1) = 1
end subroutine

program variables
  use iso_fortran_env
  use state
  implicit none
  real(8) :: a(100), b(200)
  integer :: first(10)
  real(4) :: second(20)
  real(8), save :: kept(400)
  character(len=200) :: line
  integer :: unit, status
  common /block/ a, b
  common first, second
  a(1) = 2
  kept = 1
  call coarse()
  call show('state::u', loc(u), sizeof(u))
  call show('state::steps', loc(steps), sizeof(steps))
  call show('/block/_a', loc(a), sizeof(a))
  call show('/block/_b', loc(b), sizeof(b))
  call show('//_first', loc(first), sizeof(first))
  call show('//_second', loc(second), sizeof(second))
  call show('variables.kept', loc(kept), sizeof(kept))
  open(newunit=unit, file='/proc/self/maps', status='old', action='read')
  do
    read(unit, '(a)', iostat=status) line
    if (status /= 0) exit
    print '(a)', trim(line)
  end do
contains
  subroutine show(name, address, bytes)
    character(len=*), intent(in) :: name
    integer(8), intent(in) :: address, bytes
    print '(a, " 0x", z0, " ", i0)', name, address, bytes
  end subroutine
end program
