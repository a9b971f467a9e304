! SPDX-License-Identifier: Apache-2.0
!
! As names.c: "! BYTES: NAME" is what the block of that many bytes must be called.
module fields
  implicit none
  type grid_type
    real(8), allocatable :: u(:,:)
    real(8), pointer :: p(:)
  end type
  real(8), allocatable, target :: density(:)
  type(grid_type) :: grids(3)
contains
  subroutine make(g, n)
    type(grid_type), intent(inout) :: g
    integer, intent(in) :: n
    allocate(g%u(n, 2), g%p(n+1))   ! 200016: g%u ! 100016: g%p
  end subroutine

  function ramp(n) result(values)
    integer, intent(in) :: n
    real(8), allocatable :: values(:)
    integer :: i
    allocate(values(n))
    do i = 1, n
      values(i) = i
    end do
  end function

  subroutine work(n, total)
    integer, intent(in) :: n
    real(8), intent(inout) :: total
    real(8) :: scratch(n)           ! 100240: scratch
    scratch = total
    total = sum(scratch(1:n:7))
  end subroutine
end module

program names
  use fields
  implicit none
  real(8), allocatable :: a(:), b(:), c(:,:)
  real(8), pointer :: q(:)
  real(8), allocatable :: copy(:)
  character(len=:), allocatable :: text
  integer :: status, i, n
  real(8) :: total
  n = 12501
  allocate(a(n))                    ! 100008: a
  allocate(b(0:12501), c(10, 1260)) ! 100016: b ! 100800: c
  allocate(density(12503), stat=status)  ! 100024: density
  allocate(grids(2)%u(12504, 1))    ! 100032: grids(2)%u
  i = 3
  ALLOCATE(grids(i)%p(12505), &
           STAT=status)             ! 100040: grids(i)%p
  allocate(q(12506), source=1.0d0)  ! 100048: q
  allocate(real(8) :: copy(12507))  ! 100056: copy
  if (allocated(copy)) deallocate(copy)
  copy = density                    ! 100024: copy
  allocate(character(len=100064) :: text)  ! 100064: text
  text(1:1) = 'x'
  call make(grids(1), 12501)
  a = ramp(12525)                   ! 100200: a ! 100200: a
  total = 1.0d0
  call work(12530, total)
  density = [(dble(i), i = 1, 12540)]  ! 100320: density
  print *, total, a(3), b(1), c(1, 1), q(2), size(copy), text(1:1)
end program
