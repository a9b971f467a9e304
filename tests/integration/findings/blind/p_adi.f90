! SPDX-License-Identifier: Apache-2.0
! Threads work on columns and on rows in turn. Main fills one of two arrays.
! label: t = pages change users | page-level false sharing | shared, written | partitioned
! action: t = divide | spread
! label: kappa = serial first touch | pages change users | shared, read-mostly
! action: kappa = local | divide | spread | copy
! minor: l = cache-resident | partitioned
! action: l = none
! minor: d = cache-resident | partitioned
! action: d = none
! minor: u = cache-resident | partitioned
! action: u = none
! minor: b = cache-resident | partitioned
! action: b = none
! Alternating direction implicit heat conduction on a plate.
module adi_mod
  use iso_fortran_env, only: dp => real64
  implicit none
contains
  ! Solve one tridiagonal system; l, d, u are overwritten by the sweep.
  pure subroutine thomas(n, l, d, u, b)
    integer, intent(in) :: n
    real(dp), intent(in) :: l(n)
    real(dp), intent(inout) :: d(n), u(n), b(n)
    integer :: k
    u(1) = u(1)/d(1)
    b(1) = b(1)/d(1)
    do k = 2, n
       d(k) = d(k) - l(k)*u(k-1)
       u(k) = u(k)/d(k)
       b(k) = (b(k) - l(k)*b(k-1))/d(k)
    end do
    do k = n-1, 1, -1
       b(k) = b(k) - u(k)*b(k+1)
    end do
  end subroutine thomas

  subroutine sweep_x(t, kappa, n, m, dt)
    integer, intent(in) :: n, m
    real(dp), intent(inout) :: t(n, m)
    real(dp), intent(in) :: kappa(n, m), dt
    real(dp) :: l(n), d(n), u(n), b(n), c
    integer :: i, j
    !$omp parallel do schedule(static) private(l, d, u, b, c, i)
    do j = 1, m
       do i = 1, n
          c = dt*kappa(i, j)
          l(i) = -c
          u(i) = -c
          d(i) = 1 + 2*c
          b(i) = t(i, j)
       end do
       d(1) = 1 - l(1)
       d(n) = 1 - l(n)
       call thomas(n, l, d, u, b)
       t(:, j) = b
    end do
  end subroutine sweep_x

  subroutine sweep_y(t, kappa, n, m, dt)
    integer, intent(in) :: n, m
    real(dp), intent(inout) :: t(n, m)
    real(dp), intent(in) :: kappa(n, m), dt
    real(dp) :: l(m), d(m), u(m), b(m), c
    integer :: i, j
    !$omp parallel do schedule(static) private(l, d, u, b, c, j)
    do i = 1, n
       do j = 1, m
          c = dt*kappa(i, j)
          l(j) = -c
          u(j) = -c
          d(j) = 1 + 2*c
          b(j) = t(i, j)
       end do
       d(1) = 1 - l(1)
       d(m) = 1 - l(m)
       call thomas(m, l, d, u, b)
       t(i, :) = b
    end do
  end subroutine sweep_y
end module adi_mod

program adi
  use adi_mod
  use omp_lib
  implicit none
  integer, parameter :: n = 1000, m = 900, nsteps = 32, ic = 333, jc = 450
  real(dp), allocatable :: t(:, :), kappa(:, :)
  real(dp) :: heat
  integer :: nt, i, j, s
  character(len=16) :: arg

  nt = 4
  if (command_argument_count() > 0) then
     call get_command_argument(1, arg)
     read(arg, *) nt
  end if
  call omp_set_num_threads(nt)

  allocate(t(n, m), kappa(n, m))
  call random_seed(put=[(17*i, i=1, 33)])
  call random_number(kappa)
  kappa = 0.5_dp + kappa

  !$omp parallel do schedule(static) private(i)
  do j = 1, m
     do i = 1, n
        t(i, j) = merge(100.0_dp, 20.0_dp, (i-ic)**2 + (j-jc)**2 < 2500)
     end do
  end do

  do s = 1, nsteps
     call sweep_x(t, kappa, n, m, 0.4_dp)
     call sweep_y(t, kappa, n, m, 0.4_dp)
  end do

  heat = 0
  !$omp parallel do schedule(static) reduction(+:heat) private(i)
  do j = 1, m
     do i = 1, n
        heat = heat + t(i, j)*mod(i + j, 5)
     end do
  end do
  print '(a,es20.12)', 'adi: checksum ', heat
end program adi
