! SPDX-License-Identifier: Apache-2.0
! A one-dimensional particle-in-cell code whose threads sort their own particles by cell now and then.
! OpenMP, four threads with fixed ranges of particles; the start comes from one sequential random stream.
! label: xp = serial first touch
! Why: main loads all particles, and each thread then pushes, sorts and deposits only its own range.
! action: xp = local
! harm: xp = copy
! label: vp = serial first touch
! Why: it is loaded and used together with xp.
! action: vp = local
! harm: vp = copy
! label: xs = partitioned
! Why: the sort writes it first, each thread in its own range.
! label: vs = partitioned
! Why: as xs.
! label: rho = cache-resident
! Why: a thread zeroes and fills only its own column of 32 KiB; the field solver reads all columns, but seldom.
! label: ef = cache-resident
! Why: 32 KiB of field that all threads only read during the push.
! label: cnt = cache-resident
! Why: each thread counts in its own column of 16 KiB, and seldom.
module plasma
  implicit none
  integer, parameter :: dp = kind(1.0d0), threads = 4, n = 400000, ng = 4096
  real(dp), parameter :: dt = 0.05_dp
  real(dp), allocatable :: xp(:), vp(:), xs(:), vs(:), rho(:, :), ef(:)
  integer, allocatable :: cnt(:, :)
contains
  subroutine load_particles()
    integer :: i
    integer(8) :: state
    state = 1234567
    do i = 1, n
      state = mod(state*16807_8, 2147483647_8)
      xp(i) = real(state, dp)/2147483647.0_dp*ng
      vp(i) = sin(0.001_dp*i)
    end do
  end subroutine load_particles

  ! Linear weighting to the two nearest grid points.
  subroutine deposit(first, last, mine)
    integer, intent(in) :: first, last
    real(dp), intent(inout) :: mine(0:ng - 1)
    integer :: i, c
    real(dp) :: w
    mine = 0
    do i = first, last
      c = int(xp(i))
      w = xp(i) - c
      mine(c) = mine(c) + (1 - w)
      c = iand(c + 1, ng - 1)
      mine(c) = mine(c) + w
    end do
  end subroutine deposit

  subroutine solve_field()
    integer :: c
    real(dp) :: integral, mean
    mean = real(n, dp)/ng
    integral = 0
    do c = 0, ng - 1
      integral = integral + (sum(rho(c, :)) - mean)/mean
      ef(c) = 0.001_dp*integral
    end do
  end subroutine solve_field

  subroutine push(first, last)
    integer, intent(in) :: first, last
    integer :: i, c
    real(dp) :: w, field
    do i = first, last
      c = int(xp(i))
      w = xp(i) - c
      field = (1 - w)*ef(c) + w*ef(iand(c + 1, ng - 1))
      vp(i) = vp(i) + dt*field
      xp(i) = xp(i) + dt*vp(i)
      if (xp(i) < 0) xp(i) = xp(i) + ng
      if (xp(i) >= ng) xp(i) = xp(i) - ng
    end do
  end subroutine push

  ! A counting sort of one thread's particles by cell.
  subroutine sort_own(first, last, place)
    integer, intent(in) :: first, last
    integer, intent(inout) :: place(0:ng - 1)
    integer :: i, c, before, here
    place = 0
    do i = first, last
      c = int(xp(i))
      place(c) = place(c) + 1
    end do
    before = first
    do c = 0, ng - 1
      here = place(c)
      place(c) = before
      before = before + here
    end do
    do i = first, last
      c = int(xp(i))
      xs(place(c)) = xp(i)
      vs(place(c)) = vp(i)
      place(c) = place(c) + 1
    end do
    xp(first:last) = xs(first:last)
    vp(first:last) = vs(first:last)
  end subroutine sort_own
end module plasma

program pic
  use omp_lib
  use plasma
  implicit none
  integer :: t, first, last, step
  call omp_set_num_threads(threads)
  allocate (xp(n), vp(n), xs(n), vs(n), rho(0:ng - 1, threads), ef(0:ng - 1), cnt(0:ng - 1, threads))
  call load_particles()
  !$omp parallel private(t, first, last, step)
  t = omp_get_thread_num() + 1
  first = (t - 1)*(n/threads) + 1
  last = t*(n/threads)
  do step = 0, 11
    if (mod(step, 4) == 0) call sort_own(first, last, cnt(:, t))
    call deposit(first, last, rho(:, t))
    !$omp barrier
    !$omp single
    call solve_field()
    !$omp end single
    call push(first, last)
  end do
  !$omp end parallel
  print '(a,f14.4,a,f10.6)', 'charge', sum(rho), ', last field', ef(ng - 1)
  if (abs(sum(rho) - n) > 1.0e-3_dp .or. abs(ef(ng - 1)) > 1.0e-6_dp) stop 1
  if (minval(xp) < 0 .or. maxval(xp) >= ng) stop 1
end program pic
