! SPDX-License-Identifier: Apache-2.0
! label: run = no NUMA problem
! Why: Fields are first touched with the same static division over planes k as the time step uses.
! action: run = none
! Labels of what needs no action, added after the first look:
! label: pa = partitioned
! Why: The same static division at the first touch and in each step.
! action: pa = none
! harm: pa = spread
! label: pb = partitioned
! Why: As pa.
! action: pb = none
! harm: pb = spread
! label: c2 = partitioned
! Why: As pa.
! action: c2 = none
! harm: c2 = spread | copy
! Acoustic wave propagation in a 3-D box, second order in time, second order
! in space.  A point source with a Ricker wavelet, a line of receivers.
module wavefield
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  integer, parameter :: dp = real64
  type :: setup_t
     integer  :: nx = 100, ny = 100, nz = 88
     integer  :: nsteps = 40
     integer  :: nthreads = 4
     real(dp) :: dx = 10.0_dp, dt = 1.0e-3_dp
  end type setup_t
contains

  subroutine read_args(s)
    type(setup_t), intent(inout) :: s
    character(len=32) :: arg
    if (command_argument_count() >= 1) then
       call get_command_argument(1, arg); read (arg, *) s%nsteps
    end if
    if (command_argument_count() >= 2) then
       call get_command_argument(2, arg); read (arg, *) s%nthreads
    end if
  end subroutine read_args

  subroutine init_fields(s, p0, p1, c2)
    type(setup_t), intent(in) :: s
    real(dp), intent(out) :: p0(0:,0:,0:), p1(0:,0:,0:), c2(0:,0:,0:)
    integer :: i, j, k
    real(dp) :: v
    ! same loop shape as in the time step: planes k, static
    !$omp parallel do schedule(static) private(i, j, v)
    do k = 1, s%nz
       do j = 0, s%ny + 1
          do i = 0, s%nx + 1
             v = 1500.0_dp + 20.0_dp * k + 5.0_dp * sin(0.1_dp * i)
             c2(i, j, k) = (v * s%dt / s%dx)**2
             p0(i, j, k) = 0.0_dp
             p1(i, j, k) = 0.0_dp
          end do
       end do
    end do
    ! the two outer planes
    p0(:, :, 0) = 0.0_dp;        p1(:, :, 0) = 0.0_dp
    p0(:, :, s%nz+1) = 0.0_dp;   p1(:, :, s%nz+1) = 0.0_dp
  end subroutine init_fields

  subroutine step(s, pold, pcur, c2)
    type(setup_t), intent(in) :: s
    real(dp), intent(inout) :: pold(0:,0:,0:)
    real(dp), intent(in)    :: pcur(0:,0:,0:), c2(0:,0:,0:)
    integer :: i, j, k
    real(dp) :: lap
    !$omp parallel do schedule(static) private(i, j, lap)
    do k = 1, s%nz
       do j = 1, s%ny
          do i = 1, s%nx
             lap = pcur(i-1,j,k) + pcur(i+1,j,k) + pcur(i,j-1,k) &
                 + pcur(i,j+1,k) + pcur(i,j,k-1) + pcur(i,j,k+1) &
                 - 6.0_dp * pcur(i,j,k)
             pold(i,j,k) = 2.0_dp * pcur(i,j,k) - pold(i,j,k) + c2(i,j,k) * lap
          end do
       end do
    end do
  end subroutine step

  pure function ricker(t) result(w)
    real(dp), intent(in) :: t
    real(dp) :: w, a
    a = (3.14159265358979_dp * 25.0_dp * (t - 0.02_dp))**2
    w = (1.0_dp - 2.0_dp * a) * exp(-a)
  end function ricker
end module wavefield

program seismo
  use wavefield
  use omp_lib
  implicit none
  type(setup_t) :: s
  real(dp), allocatable :: pa(:,:,:), pb(:,:,:), c2(:,:,:), trace(:,:)
  integer, parameter :: nrec = 16
  integer :: it, r
  real(dp) :: total
  call read_args(s)
  call omp_set_num_threads(s%nthreads)
  allocate (pa(0:s%nx+1, 0:s%ny+1, 0:s%nz+1), pb(0:s%nx+1, 0:s%ny+1, 0:s%nz+1))
  allocate (c2(0:s%nx+1, 0:s%ny+1, 0:s%nz+1), trace(nrec, s%nsteps))
  call init_fields(s, pa, pb, c2)
  do it = 1, s%nsteps, 2
     pb(s%nx/2, s%ny/2, 10) = pb(s%nx/2, s%ny/2, 10) + ricker(it * s%dt)
     call step(s, pa, pb, c2)
     do r = 1, nrec
        trace(r, it) = pa(5 * r, s%ny/2, 12)
     end do
     pa(s%nx/2, s%ny/2, 10) = pa(s%nx/2, s%ny/2, 10) + ricker((it + 1) * s%dt)
     call step(s, pb, pa, c2)
     if (it + 1 <= s%nsteps) then
        do r = 1, nrec
           trace(r, it + 1) = pb(5 * r, s%ny/2, 12)
        end do
     end if
  end do
  total = sum(abs(pb(:, :, 1:s%nz)))
  print '(a,i0,a,es18.10,a,es18.10)', 'steps=', s%nsteps, ' energy=', total, &
       ' trace=', sum(abs(trace))
end program seismo
