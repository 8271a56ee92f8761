import { defineError } from '../../../core/error.ts'

export const EmailInUse = defineError({
  code: 'email_in_use',
  status: 400,
  message: 'An account with this email address already exists. Log in, or reset its password.',
  cause: 'Someone has signed up with this address, possibly without confirming it.',
  fix: 'Log in. If you lost the password or did not create the account, reset the password. The reset requires access to the mailbox and ends all other access.',
})
export const PictureUnavailable = defineError({
  code: 'picture_unavailable',
  status: 503,
  message: 'The picture could not be processed. Send it again after Retry-After seconds.',
  cause: 'The processes that resize pictures are busy, or were stopped during the request.',
  fix: 'Send the picture again after Retry-After seconds.',
})
