! SPDX-License-Identifier: Apache-2.0
! Main fills all patches. The last thread gets the large ones: most of the work.
! label: run = load imbalance
! action: run = balance
! label: q = serial first touch
! action: q = local | spread | divide | even parts
! label: qn = serial first touch
! action: qn = local | spread | divide | even parts
! Block structured AMR: diffusion on patches of three sizes.
program amr
  use omp_lib
  implicit none
  type patch
    integer :: n = 0
    real(8), allocatable :: q(:,:), qn(:,:)
  end type patch
  integer, parameter :: npatch = 48, nsteps = 60
  type(patch) :: p(npatch)
  real(8) :: pnorm(npatch), total
  integer :: i, s, nt, ios
  character(len=16) :: arg

  call get_environment_variable('OMP_NUM_THREADS', arg, status=ios)
  if (ios /= 0) call omp_set_num_threads(4)
  if (command_argument_count() > 0) then
    call get_command_argument(1, arg)
    read (arg, *) nt
    call omp_set_num_threads(nt)
  end if

  do i = 1, npatch
    if (i <= 32) then
      call setup(p(i), 64, i)
    else if (i <= 44) then
      call setup(p(i), 160, i)
    else
      call setup(p(i), 512, i)
    end if
  end do

  total = 0.0d0
  do s = 1, nsteps
    !$omp parallel do schedule(static)
    do i = 1, npatch
      call advance(p(i), pnorm(i))
    end do
    !$omp end parallel do
    total = 0.5d0*total + sum(pnorm)
  end do
  print '(a,es18.10)', 'norm ', total

contains

  subroutine setup(a, n, id)
    type(patch), intent(inout) :: a
    integer, intent(in) :: n, id
    integer :: j, k
    a%n = n
    allocate (a%q(n,n), a%qn(n,n))
    do k = 1, n
      do j = 1, n
        a%q(j,k) = mod(j*id + k*7, 31)*0.1d0
      end do
    end do
    a%qn = a%q
  end subroutine setup

  subroutine advance(a, norm)
    type(patch), intent(inout) :: a
    real(8), intent(out) :: norm
    integer :: j, k, n
    real(8) :: s
    n = a%n
    do k = 2, n - 1
      do j = 2, n - 1
        a%qn(j,k) = a%q(j,k) + 0.2d0*(a%q(j-1,k) + a%q(j+1,k) + a%q(j,k-1) + a%q(j,k+1) - 4.0d0*a%q(j,k))
      end do
    end do
    s = 0.0d0
    do k = 1, n
      do j = 1, n
        a%q(j,k) = a%qn(j,k)
        s = s + a%q(j,k)*a%q(j,k)
      end do
    end do
    norm = s/(real(n, 8)*n)
  end subroutine advance

end program amr
