! SPDX-License-Identifier: Apache-2.0
! After each generation, main fills new arrays, which the threads then use in blocks.
! label: z = serial first touch
! action: z = local
! harm: z = copy
! label: vz = serial first touch
! action: vz = local
! harm: vz = copy
! label: en = serial first touch
! action: en = local
! harm: en = copy
! label: seed = serial first touch
! action: seed = local
! harm: seed = copy
! Electron avalanche in a gas gap: drift and heat the swarm in parallel, then let it ionise.
!   usage: avalanche [final swarm size] [threads]
module swarm_mod
  implicit none
  integer, parameter :: dp = kind(1.0d0)

  type swarm
    integer :: n = 0
    real(dp), allocatable :: z(:), vz(:), en(:)
    integer, allocatable :: seed(:)
  end type swarm

contains

  subroutine start(s, n)
    type(swarm), intent(inout) :: s
    integer, intent(in) :: n
    integer :: i
    allocate (s%z(n), s%vz(n), s%en(n), s%seed(n))
    !$omp parallel do schedule(static)
    do i = 1, n
      s%z(i) = 0.0_dp
      s%vz(i) = 0.1_dp
      s%en(i) = 1.0_dp + mod(i, 13) * 0.05_dp
      s%seed(i) = 1 + mod(i, 100003) * 16807
    end do
    s%n = n
  end subroutine start

  pure subroutine draw(seed, r)
    integer, intent(inout) :: seed
    real(dp), intent(out) :: r
    integer :: k
    k = seed / 127773
    seed = 16807 * (seed - k * 127773) - k * 2836
    if (seed < 0) seed = seed + 2147483647
    r = seed * (1.0_dp / 2147483647.0_dp)
  end subroutine draw

  subroutine drift(s, nsub, dt, field)
    type(swarm), intent(inout) :: s
    integer, intent(in) :: nsub
    real(dp), intent(in) :: dt, field
    integer :: i, k
    real(dp) :: r
    do k = 1, nsub
      !$omp parallel do schedule(static) private(r)
      do i = 1, s%n
        call draw(s%seed(i), r)
        s%vz(i) = s%vz(i) + field * dt
        if (r < 0.1_dp) s%vz(i) = 0.5_dp * s%vz(i)
        s%z(i) = s%z(i) + s%vz(i) * dt
        s%en(i) = s%en(i) + field * s%vz(i) * dt
      end do
    end do
  end subroutine drift

  ! every electron above the threshold releases one more; the swarm is packed into new arrays
  subroutine ionise(s, threshold)
    type(swarm), intent(inout) :: s
    real(dp), intent(in) :: threshold
    real(dp), allocatable :: z(:), vz(:), en(:)
    integer, allocatable :: seed(:)
    integer :: i, m, nnew
    nnew = s%n + count(s%en(1:s%n) > threshold)
    allocate (z(nnew), vz(nnew), en(nnew), seed(nnew))
    m = 0
    do i = 1, s%n
      m = m + 1
      z(m) = s%z(i)
      vz(m) = s%vz(i)
      en(m) = s%en(i)
      seed(m) = s%seed(i)
      if (s%en(i) > threshold) then
        en(m) = 0.5_dp * s%en(i)
        m = m + 1
        z(m) = s%z(i)
        vz(m) = 0.0_dp
        en(m) = 0.5_dp * s%en(i)
        seed(m) = ieor(s%seed(i), 123459876)
        if (seed(m) <= 0) seed(m) = 42
      end if
    end do
    call move_alloc(z, s%z)
    call move_alloc(vz, s%vz)
    call move_alloc(en, s%en)
    call move_alloc(seed, s%seed)
    s%n = nnew
  end subroutine ionise
end module swarm_mod

program avalanche
  use swarm_mod
  use omp_lib
  implicit none
  type(swarm) :: s
  integer :: nfinal, nt, gen
  character(len=32) :: arg
  real(dp) :: cs

  nfinal = 600000
  nt = 4
  if (command_argument_count() >= 1) then
    call get_command_argument(1, arg)
    read (arg, *) nfinal
  end if
  if (command_argument_count() >= 2) then
    call get_command_argument(2, arg)
    read (arg, *) nt
  end if
  call omp_set_num_threads(nt)

  call start(s, max(64, nfinal / 8))
  gen = 0
  do while (s%n < nfinal .and. gen < 40)
    call drift(s, 8, 0.05_dp, 0.7_dp)
    call ionise(s, 0.9_dp)
    gen = gen + 1
  end do
  call drift(s, 8, 0.05_dp, 0.7_dp)
  cs = sum(s%z(1:s%n)) + sum(s%en(1:s%n))
  print '(a, es16.8, a, i0, a, i0)', 'checksum ', cs / s%n, ' electrons ', s%n, ' generations ', gen
end program avalanche
