import { defineError } from '../core/error.ts'

export const UrlRefused = defineError({
  code: 'url_refused',
  status: 400,
  message: 'This URL is not allowed.',
  cause:
    'It is not a plain http or https URL, or it leads to an address that is not public, directly or through a redirect.',
  fix: 'Use a URL that anyone on the internet can open, without a user name, on port 80, 443, 8080 or 8443.',
})
export const UrlUnreachable = defineError({
  code: 'url_unreachable',
  status: 400,
  message: 'The URL cannot be fetched.',
  cause: 'Its host name has no address, or its server does not respond in time or responds with an error.',
  fix: 'Open the URL in a private window of a browser: it must show the file without signing in.',
})
