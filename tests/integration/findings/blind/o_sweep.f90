! SPDX-License-Identifier: Apache-2.0
! Main clears all arrays. Each thread sweeps the whole grid for its angles, and adds to its own
! slice.
! label: part = serial first touch
! action: part = local
! label: sigt = shared, read-mostly
! action: sigt = copy | spread | local
! label: src = shared, written
! action: src = local | spread
! label: phi = serial first touch
! action: phi = local
! minor: sigs = serial first touch
! action: sigs = local
! minor: ext = serial first touch
! action: ext = local
! harm: run = balance
! sweep - one-group discrete ordinates (S_N) transport in x-y geometry, diamond difference,
! source iteration.  The angles of all four quadrants are shared out among the threads.
!   sweep [threads] [iterations]
program sweep
  use omp_lib
  implicit none
  integer, parameter :: dp = kind(1d0)
  integer, parameter :: nx = 400, ny = 400, npq = 8, nang = 4*npq
  real(dp), parameter :: h = 0.02_dp
  real(dp), allocatable :: sigt(:,:), sigs(:,:), ext(:,:)   ! cross sections, fixed source
  real(dp), allocatable :: phi(:,:), src(:,:), part(:,:,:)
  real(dp) :: mu(nang), eta(nang), wgt(nang), err, total, old
  integer :: nt, niter, it, i, j, m, me, t
  character(len=32) :: arg

  nt = 4
  niter = 3
  if (command_argument_count() >= 1) then
     call get_command_argument(1, arg)
     read (arg, *) nt
  end if
  if (command_argument_count() >= 2) then
     call get_command_argument(2, arg)
     read (arg, *) niter
  end if
  call omp_set_num_threads(nt)

  allocate (sigt(nx,ny), sigs(nx,ny), ext(nx,ny), phi(nx,ny), src(nx,ny), part(nx,ny,nt))
  call materials()
  call quadrature()
  phi = 0
  src = 0
  part = 0

  do it = 1, niter
     !$omp parallel do schedule(static) private(i)
     do j = 1, ny
        do i = 1, nx
           src(i,j) = sigs(i,j)*phi(i,j) + ext(i,j)
        end do
     end do

     !$omp parallel private(me)
     me = omp_get_thread_num() + 1
     part(:,:,me) = 0
     !$omp do schedule(static)
     do m = 1, nang
        call one_angle(mu(m), eta(m), wgt(m), part(:,:,me))
     end do
     !$omp end parallel

     err = 0
     !$omp parallel do schedule(static) private(i, t, old) reduction(max:err)
     do j = 1, ny
        do i = 1, nx
           old = phi(i,j)
           phi(i,j) = 0
           do t = 1, nt
              phi(i,j) = phi(i,j) + part(i,j,t)
           end do
           err = max(err, abs(phi(i,j) - old))
        end do
     end do
  end do

  total = sum(phi)*h*h
  print '(a,i0,a,es12.5,a,es15.8,a,es15.8)', 'iterations ', niter, ' change ', err, &
        ' integral ', total, ' centre ', phi(nx/2,ny/2)

contains

  subroutine materials()
    integer :: i, j
    do j = 1, ny
       do i = 1, nx
          sigt(i,j) = 1.0_dp
          sigs(i,j) = 0.6_dp
          ext(i,j) = 0
          if (mod(i/60 + j/60, 2) == 1) then        ! absorber blocks
             sigt(i,j) = 5.0_dp
             sigs(i,j) = 0.5_dp
          end if
          if (abs(i - nx/2) < 40 .and. abs(j - ny/2) < 40) ext(i,j) = 1.0_dp
       end do
    end do
  end subroutine materials

  subroutine quadrature()
    integer :: q, k, m
    real(dp) :: a, s
    real(dp), parameter :: pi = acos(-1.0_dp)
    m = 0
    do q = 0, 3
       do k = 1, npq
          m = m + 1
          a = 0.5_dp*pi*(k - 0.5_dp)/npq
          s = merge(0.9_dp, 0.5_dp, mod(k, 2) == 0)
          mu(m) = s*cos(a)*merge(1, -1, mod(q, 2) == 0)
          eta(m) = s*sin(a)*merge(1, -1, q < 2)
          wgt(m) = 1.0_dp/nang
       end do
    end do
  end subroutine quadrature

  ! sweeps the grid downstream along one direction and adds the flux to acc
  subroutine one_angle(mu, eta, w, acc)
    real(dp), intent(in) :: mu, eta, w
    real(dp), intent(inout) :: acc(nx,ny)
    real(dp) :: south(nx), west, cx, cy, psi
    integer :: i, j, ia, ib, is, ja, jb, js
    ia = merge(1, nx, mu > 0)
    ib = nx + 1 - ia
    is = merge(1, -1, mu > 0)
    ja = merge(1, ny, eta > 0)
    jb = ny + 1 - ja
    js = merge(1, -1, eta > 0)
    cx = 2*abs(mu)/h
    cy = 2*abs(eta)/h
    south = 0
    do j = ja, jb, js
       west = 0
       do i = ia, ib, is
          psi = (src(i,j) + cx*west + cy*south(i))/(sigt(i,j) + cx + cy)
          west = 2*psi - west
          south(i) = 2*psi - south(i)
          acc(i,j) = acc(i,j) + w*psi
       end do
    end do
  end subroutine one_angle
end program sweep
