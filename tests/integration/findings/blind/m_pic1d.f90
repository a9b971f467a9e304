! SPDX-License-Identifier: Apache-2.0
! Particles are touched in parallel with the schedule of the work; the field has 4 KB.
! label: run = no NUMA problem
! action: run = none
! label: x = partitioned
! label: v = partitioned
! label: e = cache-resident
! harm: x = spread
! harm: v = spread
! One-dimensional electrostatic particle-in-cell, two counter-streaming beams.
!   usage: pic1d [particles] [threads]
module pic_mod
  implicit none
  integer, parameter :: dp = kind(1.0d0)
  integer, parameter :: ng = 512
  real(dp), parameter :: boxl = 64.0_dp, dx = boxl / ng, dt = 0.05_dp
contains

  pure function noise(i, k) result(r)
    integer, intent(in) :: i, k
    real(dp) :: r
    real(dp) :: a
    a = sin(real(i, dp) * 12.9898_dp + real(k, dp) * 78.233_dp) * 43758.5453_dp
    r = a - floor(a)
  end function noise

  subroutine load(np, x, v)
    integer, intent(in) :: np
    real(dp), intent(out) :: x(np), v(np)
    integer :: i
    !$omp parallel do schedule(static)
    do i = 1, np
      x(i) = noise(i, 1) * boxl
      v(i) = merge(1.0_dp, -1.0_dp, mod(i, 2) == 0) + 0.05_dp * (noise(i, 2) - 0.5_dp)
    end do
  end subroutine load

  subroutine deposit(np, x, rho)
    integer, intent(in) :: np
    real(dp), intent(in) :: x(np)
    real(dp), intent(out) :: rho(0:ng-1)
    integer :: i, j
    real(dp) :: f, q
    rho = 0.0_dp
    q = real(ng, dp) / np
    !$omp parallel do schedule(static) private(f, j) reduction(+:rho)
    do i = 1, np
      f = x(i) / dx
      j = int(f)
      f = f - j
      if (j >= ng) j = 0
      rho(j) = rho(j) + q * (1.0_dp - f)
      if (j + 1 < ng) then
        rho(j+1) = rho(j+1) + q * f
      else
        rho(0) = rho(0) + q * f
      end if
    end do
  end subroutine deposit

  subroutine field(rho, e)
    real(dp), intent(in) :: rho(0:ng-1)
    real(dp), intent(out) :: e(0:ng-1)
    integer :: j
    real(dp) :: mean
    e(0) = 0.0_dp
    do j = 1, ng - 1
      e(j) = e(j-1) + dx * (1.0_dp - 0.5_dp * (rho(j) + rho(j-1)))
    end do
    mean = sum(e) / ng
    e = e - mean
  end subroutine field

  subroutine push(np, x, v, e, ke)
    integer, intent(in) :: np
    real(dp), intent(inout) :: x(np), v(np)
    real(dp), intent(in) :: e(0:ng-1)
    real(dp), intent(out) :: ke
    integer :: i, j, j2
    real(dp) :: f
    ke = 0.0_dp
    !$omp parallel do schedule(static) private(f, j, j2) reduction(+:ke)
    do i = 1, np
      f = x(i) / dx
      j = int(f)
      f = f - j
      if (j >= ng) j = 0
      j2 = j + 1
      if (j2 >= ng) j2 = 0
      v(i) = v(i) - dt * ((1.0_dp - f) * e(j) + f * e(j2))
      x(i) = x(i) + dt * v(i)
      if (x(i) < 0.0_dp) x(i) = x(i) + boxl
      if (x(i) >= boxl) x(i) = x(i) - boxl
      ke = ke + v(i) * v(i)
    end do
  end subroutine push
end module pic_mod

program pic1d
  use pic_mod
  use omp_lib
  implicit none
  integer :: np, nt, step
  character(len=32) :: arg
  real(dp), allocatable :: x(:), v(:)
  real(dp) :: rho(0:ng-1), e(0:ng-1), ke

  np = 1500000
  nt = 4
  if (command_argument_count() >= 1) then
    call get_command_argument(1, arg)
    read (arg, *) np
  end if
  if (command_argument_count() >= 2) then
    call get_command_argument(2, arg)
    read (arg, *) nt
  end if
  call omp_set_num_threads(nt)

  allocate (x(np), v(np))
  call load(np, x, v)
  do step = 1, 12
    call deposit(np, x, rho)
    call field(rho, e)
    call push(np, x, v, e, ke)
  end do
  print '(a, es16.8, a, es12.4)', 'checksum ', ke / np, ' fieldenergy ', 0.5_dp * dx * sum(e * e)
  deallocate (x, v)
end program pic1d
