! SPDX-License-Identifier: Apache-2.0
! Heat in a solid: the arrays are touched first in the division of the sweeps.
! label: run = no NUMA problem
! label: u = partitioned
! label: w = partitioned
! label: cond = partitioned
! Heat diffusion in a block with varying conductivity, explicit steps.
! usage: l_heat [threads] [edge]
program l_heat
  use omp_lib
  implicit none
  integer, parameter :: dp = kind(1.0d0)
  integer :: threads, n, step, steps
  real(dp), allocatable :: u(:,:,:), w(:,:,:), cond(:,:,:)
  real(dp), allocatable :: slab(:)
  real(dp) :: total, profile(0:511)

  threads = int_arg(1, 4)
  n = int_arg(2, 180)
  steps = 110
  if (threads < 1 .or. n < 8 .or. n > 510) stop 'usage: l_heat [threads] [edge]'
  call omp_set_num_threads(threads)

  call make_profile(profile, n)
  allocate (u(0:n+1, 0:n+1, 0:n+1), w(0:n+1, 0:n+1, 0:n+1))
  allocate (cond(0:n+1, 0:n+1, 0:n+1), slab(n))
  call setup(u, w, cond, profile, n)

  do step = 1, steps, 2
    call sweep(u, w, cond, n)
    call sweep(w, u, cond, n)
  end do

  call slab_sums(u, slab, n)
  total = 0.0_dp
  do step = 1, n
    total = total + slab(step)
  end do
  print '(a,i0,a,i0,a,f18.8)', 'cells ', n, '^3 steps ', steps, ' checksum ', total
  if (.not. (total > 0.0_dp .and. total < 1.0e9_dp)) stop 3

contains

  integer function int_arg(k, default)
    integer, intent(in) :: k, default
    character(len=32) :: text
    integer :: err
    int_arg = default
    if (command_argument_count() >= k) then
      call get_command_argument(k, text)
      read (text, *, iostat=err) int_arg
      if (err /= 0) int_arg = default
    end if
  end function int_arg

  subroutine make_profile(p, n)
    real(dp), intent(out) :: p(0:511)
    integer, intent(in) :: n
    integer :: i
    p = 0.0_dp
    do i = 0, n + 1
      p(i) = sin(3.141592653589793_dp * real(i, dp) / real(n + 1, dp))
    end do
  end subroutine make_profile

  subroutine setup(u, w, cond, p, n)
    integer, intent(in) :: n
    real(dp), intent(out) :: u(0:n+1, 0:n+1, 0:n+1)
    real(dp), intent(out) :: w(0:n+1, 0:n+1, 0:n+1)
    real(dp), intent(out) :: cond(0:n+1, 0:n+1, 0:n+1)
    real(dp), intent(in) :: p(0:511)
    integer :: i, j, k, k0, k1
    !$omp parallel do schedule(static) private(i, j, k0, k1)
    do k = 1, n
      k0 = k
      k1 = k
      if (k == 1) k0 = 0
      if (k == n) k1 = n + 1
      do while (k0 <= k1)
        do j = 0, n + 1
          do i = 0, n + 1
            u(i, j, k0) = p(i) * p(j) * p(k0)
            w(i, j, k0) = 0.0_dp
            cond(i, j, k0) = 0.10_dp + 0.05_dp * real(mod(i + 3*j + 7*k0, 11), dp) / 11.0_dp
          end do
        end do
        k0 = k0 + 1
      end do
    end do
    !$omp end parallel do
  end subroutine setup

  subroutine sweep(a, b, cond, n)
    integer, intent(in) :: n
    real(dp), intent(in) :: a(0:n+1, 0:n+1, 0:n+1)
    real(dp), intent(inout) :: b(0:n+1, 0:n+1, 0:n+1)
    real(dp), intent(in) :: cond(0:n+1, 0:n+1, 0:n+1)
    integer :: i, j, k
    !$omp parallel do schedule(static) private(i, j)
    do k = 1, n
      do j = 1, n
        do i = 1, n
          b(i, j, k) = a(i, j, k) + cond(i, j, k) * ( &
              a(i-1, j, k) + a(i+1, j, k) + a(i, j-1, k) + a(i, j+1, k) &
              + a(i, j, k-1) + a(i, j, k+1) - 6.0_dp * a(i, j, k))
        end do
      end do
    end do
    !$omp end parallel do
  end subroutine sweep

  subroutine slab_sums(a, s, n)
    integer, intent(in) :: n
    real(dp), intent(in) :: a(0:n+1, 0:n+1, 0:n+1)
    real(dp), intent(out) :: s(n)
    integer :: i, j, k
    real(dp) :: t
    !$omp parallel do schedule(static) private(i, j, t)
    do k = 1, n
      t = 0.0_dp
      do j = 1, n
        do i = 1, n
          t = t + a(i, j, k)
        end do
      end do
      s(k) = t
    end do
    !$omp end parallel do
  end subroutine slab_sums

end program l_heat
