! SPDX-License-Identifier: Apache-2.0
! Main fills an image. Threads work on columns and on rows in turn, on a smaller part of it each
! time.
! label: img = pages change users
! action: img = divide | spread | local
! harm: img = copy
! minor: img = false sharing of cache lines
! minor: orig = serial first touch
! action: orig = local | none
! wavelet - multi-level 2-D CDF 5/3 lifting transform of an image, soft thresholding, inverse.
!   wavelet [threads]
module lifting
  implicit none
contains
  ! forward transform of x(1:n), n even; low band to the front
  subroutine fwd(x, n, t)
    integer, intent(in) :: n
    real, intent(inout) :: x(n)
    real, intent(inout) :: t(n)
    integer :: k, h
    h = n/2
    do k = 1, h - 1
       t(h+k) = x(2*k) - 0.5*(x(2*k-1) + x(2*k+1))
    end do
    t(n) = x(n) - x(n-1)
    t(1) = x(1) + 0.5*t(h+1)
    do k = 2, h
       t(k) = x(2*k-1) + 0.25*(t(h+k-1) + t(h+k))
    end do
    x = t
  end subroutine fwd

  subroutine inv(x, n, t)
    integer, intent(in) :: n
    real, intent(inout) :: x(n)
    real, intent(inout) :: t(n)
    integer :: k, h
    h = n/2
    t(1) = x(1) - 0.5*x(h+1)
    do k = 2, h
       t(2*k-1) = x(k) - 0.25*(x(h+k-1) + x(h+k))
    end do
    do k = 1, h - 1
       t(2*k) = x(h+k) + 0.5*(t(2*k-1) + t(2*k+1))
    end do
    t(n) = x(n) + t(n-1)
    x = t
  end subroutine inv
end module lifting

program wavelet
  use omp_lib
  use lifting
  implicit none
  integer, parameter :: nx = 2048, ny = 1536, levels = 4
  real, parameter :: cut = 9.0
  real, allocatable :: img(:,:), orig(:,:), row(:), t(:)
  integer :: nt, l, i, j, mx, my
  integer(8) :: zeros
  real(8) :: mse
  character(len=32) :: arg

  nt = 4
  if (command_argument_count() >= 1) then
     call get_command_argument(1, arg)
     read (arg, *) nt
  end if
  call omp_set_num_threads(nt)

  allocate (img(nx,ny), orig(nx,ny))
  call scan(img)
  orig = img

  !$omp parallel private(l, i, j, mx, my, row, t)
  allocate (row(ny), t(max(nx,ny)))
  do l = 1, levels
     mx = nx/2**(l-1)
     my = ny/2**(l-1)
     !$omp do schedule(static)
     do j = 1, my
        call fwd(img(1:mx,j), mx, t)
     end do
     !$omp do schedule(static)
     do i = 1, mx
        row(1:my) = img(i,1:my)
        call fwd(row, my, t)
        img(i,1:my) = row(1:my)
     end do
  end do
  !$omp end parallel

  ! shrink everything but the coarsest approximation
  zeros = 0
  !$omp parallel do schedule(static) private(i) reduction(+:zeros)
  do j = 1, ny
     do i = 1, nx
        if (i <= nx/2**levels .and. j <= ny/2**levels) cycle
        if (abs(img(i,j)) <= cut) then
           img(i,j) = 0
           zeros = zeros + 1
        else
           img(i,j) = img(i,j) - sign(cut, img(i,j))
        end if
     end do
  end do

  !$omp parallel private(l, i, j, mx, my, row, t)
  allocate (row(ny), t(max(nx,ny)))
  do l = levels, 1, -1
     mx = nx/2**(l-1)
     my = ny/2**(l-1)
     !$omp do schedule(static)
     do i = 1, mx
        row(1:my) = img(i,1:my)
        call inv(row, my, t)
        img(i,1:my) = row(1:my)
     end do
     !$omp do schedule(static)
     do j = 1, my
        call inv(img(1:mx,j), mx, t)
     end do
  end do
  !$omp end parallel

  mse = 0
  !$omp parallel do schedule(static) private(i) reduction(+:mse)
  do j = 1, ny
     do i = 1, nx
        mse = mse + dble(img(i,j) - orig(i,j))**2
     end do
  end do
  mse = mse/(dble(nx)*ny)
  print '(a,i0,a,f9.4,a,f8.3,a,f9.4)', 'zeros ', zeros, ' of 3145728, mse ', mse, &
        ' psnr ', 10*log10(255d0**2/mse), ' centre ', img(nx/2,ny/2)

contains

  ! a smooth scene with edges and sensor noise
  subroutine scan(a)
    real, intent(out) :: a(:,:)
    integer :: i, j
    integer(8) :: s
    s = 12345
    do j = 1, size(a, 2)
       do i = 1, size(a, 1)
          s = iand(s*1103515245_8 + 12345_8, 2147483647_8)
          a(i,j) = 0.05*i + 0.04*j + real(mod(s/65536, 13_8))
          if (mod(i/100 + j/80, 2) == 0) a(i,j) = a(i,j) + 60
       end do
    end do
  end subroutine scan
end program wavelet
