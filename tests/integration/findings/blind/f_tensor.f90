! SPDX-License-Identifier: Apache-2.0
! A tensor contraction C(i,j) = sum over l and m of A(l,m,i) B(l,m,j), in blocks of four j.
! OpenMP, four threads, static division of i; both tensors are set in parallel.
! label: a = partitioned
! Why: the slices of A are set and read by the same static division of i.
! label: b = shared, read-mostly
! Why: every thread reads all of B for each i; the parallel loop that set it only spread it over the nodes.
! action: b = copy|divide
program tensor
  use omp_lib
  implicit none
  integer, parameter :: dp = kind(1.0d0), nl = 64, nm = 128, ni = 96, nj = 96
  real(dp), allocatable :: a(:, :, :), b(:, :, :), c(:, :)
  real(dp) :: trace, wanted
  integer :: i, j, l, m

  call omp_set_num_threads(4)
  allocate (a(nl, nm, ni), b(nl, nm, nj), c(nj, ni))

  !$omp parallel do schedule(static) private(l, m)
  do i = 1, ni
    do m = 1, nm
      do l = 1, nl
        a(l, m, i) = real(mod(l*3 + m*5 + i*7, 11), dp) - 5
      end do
    end do
  end do
  !$omp parallel do schedule(static) private(l, m)
  do j = 1, nj
    do m = 1, nm
      do l = 1, nl
        b(l, m, j) = real(mod(l*2 + m*7 + j*5, 13), dp) - 6
      end do
    end do
  end do

  call contract(a, b, c)

  trace = 0
  wanted = 0
  do i = 1, ni, 16
    trace = trace + c(i, i)
    do m = 1, nm
      do l = 1, nl
        wanted = wanted + real((mod(l*3 + m*5 + i*7, 11) - 5)*(mod(l*2 + m*7 + i*5, 13) - 6), dp)
      end do
    end do
  end do
  print '(a,f12.1,a,f12.1)', 'found', trace, ', wanted', wanted
  if (abs(trace - wanted) > 0.5_dp) stop 1

contains

  subroutine contract(left, right, product)
    real(dp), intent(in) :: left(nl, nm, ni), right(nl, nm, nj)
    real(dp), intent(out) :: product(nj, ni)
    real(dp) :: s0, s1, s2, s3
    integer :: row, col, q, p
    !$omp parallel do schedule(static) private(col, q, p, s0, s1, s2, s3)
    do row = 1, ni
      do col = 1, nj, 4
        s0 = 0; s1 = 0; s2 = 0; s3 = 0
        do q = 1, nm
          do p = 1, nl
            s0 = s0 + left(p, q, row)*right(p, q, col)
            s1 = s1 + left(p, q, row)*right(p, q, col + 1)
            s2 = s2 + left(p, q, row)*right(p, q, col + 2)
            s3 = s3 + left(p, q, row)*right(p, q, col + 3)
          end do
        end do
        product(col, row) = s0
        product(col + 1, row) = s1
        product(col + 2, row) = s2
        product(col + 3, row) = s3
      end do
    end do
  end subroutine contract
end program tensor
