! SPDX-License-Identifier: Apache-2.0
! LU decomposition by panels: each update divides the columns that are left anew, so the columns
! of each thread move.
! label: a = pages change users
! action: a = divide | spread
! harm: a = copy
! Dense LU factorisation without pivoting of a diagonally dominant matrix,
! right-looking with narrow panels, followed by a solve and a check.
! usage: l_lu [threads] [order]
program l_lu
  use omp_lib
  implicit none
  integer, parameter :: dp = kind(1.0d0), nb = 8
  integer :: threads, n, k, kend
  real(dp), allocatable :: a(:,:), b(:), x(:)
  real(dp) :: worst, check

  threads = int_arg(1, 4)
  n = int_arg(2, 2560)
  if (threads < 1 .or. n < 64) stop 'usage: l_lu [threads] [order]'
  n = (n / nb) * nb
  call omp_set_num_threads(threads)
  allocate (a(n, n), b(n), x(n))

  call fill(a, b, n)
  do k = 1, n, nb
    kend = k + nb - 1
    call panel(a, n, k, kend)
    call update(a, n, k, kend)
  end do
  call solve(a, b, x, n)
  call verify(x, b, n, worst)

  check = 0.0_dp
  do k = 1, n
    check = check + x(k) * real(mod(k, 17) + 1, dp)
  end do
  print '(a,i0,a,l1,a,f16.9)', 'order ', n, ' accurate ', worst < 1.0e-8_dp, ' checksum ', check
  if (worst >= 1.0e-8_dp) stop 3

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

  pure real(dp) function element(i, j, n)
    integer, intent(in) :: i, j, n
    element = real(mod(i * 31 + j * 17, 101), dp) / 101.0_dp - 0.5_dp
    if (i == j) element = element + 0.5_dp * real(n, dp)
  end function element

  subroutine fill(a, b, n)
    integer, intent(in) :: n
    real(dp), intent(out) :: a(n, n), b(n)
    integer :: i, j
    !$omp parallel do schedule(static) private(i)
    do j = 1, n
      do i = 1, n
        a(i, j) = element(i, j, n)
      end do
      b(j) = 1.0_dp + real(mod(j, 7), dp)
    end do
    !$omp end parallel do
  end subroutine fill

  subroutine panel(a, n, k, kend)
    integer, intent(in) :: n, k, kend
    real(dp), intent(inout) :: a(n, n)
    integer :: i, j, l
    real(dp) :: s
    do l = k, kend
      s = 1.0_dp / a(l, l)
      do i = l + 1, n
        a(i, l) = a(i, l) * s
      end do
      do j = l + 1, kend
        s = a(l, j)
        do i = l + 1, n
          a(i, j) = a(i, j) - a(i, l) * s
        end do
      end do
    end do
  end subroutine panel

  subroutine update(a, n, k, kend)
    integer, intent(in) :: n, k, kend
    real(dp), intent(inout) :: a(n, n)
    integer :: i, j, l, m
    real(dp) :: s(nb)
    !$omp parallel do schedule(static) private(i, l, m, s)
    do j = kend + 1, n
      do l = k, kend
        do m = l + 1, kend
          a(m, j) = a(m, j) - a(m, l) * a(l, j)
        end do
      end do
      do l = 1, nb
        s(l) = a(k + l - 1, j)
      end do
      do i = kend + 1, n
        a(i, j) = a(i, j) - a(i, k) * s(1) - a(i, k+1) * s(2) - a(i, k+2) * s(3) &
                  - a(i, k+3) * s(4) - a(i, k+4) * s(5) - a(i, k+5) * s(6) &
                  - a(i, k+6) * s(7) - a(i, k+7) * s(8)
      end do
    end do
    !$omp end parallel do
  end subroutine update

  subroutine solve(a, b, x, n)
    integer, intent(in) :: n
    real(dp), intent(in) :: a(n, n), b(n)
    real(dp), intent(out) :: x(n)
    integer :: i, j
    x = b
    do j = 1, n
      do i = j + 1, n
        x(i) = x(i) - a(i, j) * x(j)
      end do
    end do
    do j = n, 1, -1
      x(j) = x(j) / a(j, j)
      do i = 1, j - 1
        x(i) = x(i) - a(i, j) * x(j)
      end do
    end do
  end subroutine solve

  subroutine verify(x, b, n, worst)
    integer, intent(in) :: n
    real(dp), intent(in) :: x(n), b(n)
    real(dp), intent(out) :: worst
    integer :: i, j
    real(dp) :: s
    worst = 0.0_dp
    !$omp parallel do schedule(static) private(j, s) reduction(max: worst)
    do i = 1, n
      s = -b(i)
      do j = 1, n
        s = s + element(i, j, n) * x(j)
      end do
      worst = max(worst, abs(s))
    end do
    !$omp end parallel do
  end subroutine verify

end program l_lu
