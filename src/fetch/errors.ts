import { defineError } from '../core/error.ts'

export const UrlRefused = defineError({
  code: 'url_refused',
  status: 400,
  message: 'This URL is not allowed.',
  cause:
    'The URL is not a plain http or https URL, or it leads to an address that is not public, directly or through a redirect.',
  fix: 'Use a URL that anyone on the internet can open, without a user name, on port 80, 443, 8080 or 8443.',
})
export const UrlUnreachable = defineError({
  code: 'url_unreachable',
  status: 400,
  message: 'The URL cannot be fetched.',
  cause: 'The host name has no address, or the server does not respond in time or responds with an error.',
  fix: 'Open the URL in a private browser window. It must show the file without a sign-in.',
})
