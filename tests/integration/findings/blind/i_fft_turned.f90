! SPDX-License-Identifier: Apache-2.0
! label: run = no NUMA problem
! Why: Both arrays are first touched by columns as they are transformed; the transformation of a
! column makes many passes over it, and only the two transpositions, once per step, read across
! the columns.
! action: run = none
! harm: a = spread | copy | local
! harm: b = spread | copy | local
! Labels of what needs no action, added after the first look:
! label: a = partitioned
! label: b = partitioned
! label: roots = cache-resident
! action: roots = none
! Spectral filter: FFT of all columns, a transposition by blocks, FFT of the rows as columns, and
! back.
program fft_turned
  use omp_lib
  implicit none
  integer, parameter :: dp = kind(1d0)
  integer :: n, steps, step, i, j
  complex(dp), allocatable :: a(:, :), b(:, :)
  complex(dp), allocatable :: roots(:)
  character(32) :: word
  n = 512; steps = 2
  if (command_argument_count() > 0) then
    call get_command_argument(1, word); read (word, *) n
  end if
  if (command_argument_count() > 1) then
    call get_command_argument(2, word); read (word, *) steps
  end if
  allocate (a(n, n), b(n, n), roots(0:n/2 - 1))
  do i = 0, n/2 - 1
    roots(i) = exp(cmplx(0d0, -2*acos(-1d0)*i/n, dp))
  end do
  !$omp parallel do schedule(static) private(i)
  do j = 1, n
    do i = 1, n
      a(i, j) = cmplx(sin(0.1d0*i)*cos(0.07d0*j), 0d0, dp)
      b(i, j) = 0
    end do
  end do
  do step = 1, steps
    call columns(a)
    call turn(a, b)
    call columns(b)
    call damp(b)
    call columns(b)
    call turn(b, a)
    call columns(a)
  end do
  print '(a, es14.6)', 'sum ', sum(abs(a(:, n/3)))
contains
  subroutine columns(x)
    complex(dp), intent(inout) :: x(:, :)
    integer :: column
    !$omp parallel do schedule(static)
    do column = 1, n
      call fft(x(:, column))
    end do
  end subroutine

  subroutine fft(x)
    complex(dp), intent(inout) :: x(0:)
    complex(dp) :: even, odd
    integer :: p, q, bit, half, start, k
    q = 0
    do p = 0, n - 2
      if (p < q) then
        even = x(p); x(p) = x(q); x(q) = even
      end if
      bit = n/2
      do while (bit >= 1 .and. iand(q, bit) /= 0)
        q = q - bit
        bit = bit/2
      end do
      q = q + bit
    end do
    half = 1
    do while (half < n)
      do start = 0, n - 1, 2*half
        do k = 0, half - 1
          even = x(start + k)
          odd = x(start + k + half)*roots(k*(n/(2*half)))
          x(start + k) = even + odd
          x(start + k + half) = even - odd
        end do
      end do
      half = 2*half
    end do
  end subroutine

  subroutine turn(from, to)
    complex(dp), intent(in) :: from(:, :)
    complex(dp), intent(inout) :: to(:, :)
    integer, parameter :: side = 32
    integer :: jb, ib, r, c
    !$omp parallel do schedule(static) private(ib, r, c)
    do jb = 1, n, side
      do ib = 1, n, side
        do c = jb, min(n, jb + side - 1)
          do r = ib, min(n, ib + side - 1)
            to(r, c) = from(c, r)
          end do
        end do
      end do
    end do
  end subroutine

  subroutine damp(x)
    complex(dp), intent(inout) :: x(:, :)
    integer :: r, c
    !$omp parallel do schedule(static) private(r)
    do c = 1, n
      do r = 1, n
        x(r, c) = conjg(x(r, c))*exp(-1d-6*(min(r, n - r)**2 + min(c, n - c)**2))/n
      end do
    end do
  end subroutine
end program
