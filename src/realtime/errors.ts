import { defineError } from '../core/error.ts'

export const TooManySockets = defineError({
  code: 'too_many_sockets',
  status: 429,
  message: 'You have too many open sockets.',
  cause: 'One user may have 50 sockets at a time on a node.',
  fix: 'Close sockets that are not used; share one between the parts of a program.',
})
