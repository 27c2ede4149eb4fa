! SPDX-License-Identifier: MIT
! A library in Fortran.
module spoken
  use iso_c_binding
  implicit none
  integer(c_int) :: calls = 0
  real(c_double) :: lengths(3) = 0
end module spoken

subroutine speak_fortran(length) bind(C)
  use spoken
  implicit none
  integer(c_int), value :: length
  integer :: i
  calls = calls + 1
  do i = 1, 3
    lengths(i) = length * i ! Fortran speaks
  end do
end subroutine speak_fortran
