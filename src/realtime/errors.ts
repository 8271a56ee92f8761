import { defineError } from '../core/error.ts'

export const TooManyCalls = defineError({
  code: 'too_many_calls',
  status: 429,
  message: 'Too many calls of this socket wait for their answers.',
  cause: 'A socket may have 32 calls under way at a time.',
  fix: 'Wait for answers before calling again.',
})
export const TooManySockets = defineError({
  code: 'too_many_sockets',
  status: 429,
  message: 'You have too many open sockets.',
  cause: 'One user may have 50 sockets at a time on a node.',
  fix: 'Close sockets that are not used; share one between the parts of a program.',
})
