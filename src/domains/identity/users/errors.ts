import { defineError } from '../../../core/error.ts'

export const EmailInUse = defineError({
  code: 'email_in_use',
  status: 400,
  message: 'There is already an account with this email address.',
  cause: 'Somebody has signed up with the address, perhaps without confirming it.',
  fix: 'Log in. If the account is not yours or the password is lost, reset the password: the mail proves that the address is yours, and ends every earlier access.',
})
export const PictureUnavailable = defineError({
  code: 'picture_unavailable',
  status: 503,
  message: 'The picture could not be drawn right now.',
  cause: 'The processes that draw pictures are busy, or were ended under this one.',
  fix: 'Send the picture again after Retry-After seconds.',
})
