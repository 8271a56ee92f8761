import { fail, issuers, optional, text, url, withDefault, type OidcIssuer } from './setting-readers.ts'

const domainName = (value: string): string =>
  /^(?=.{1,253}$)[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(value)
    ? value
    : fail('must be a lower-case domain, such as example.com')

/** Settings of sign-in with other providers: rows of `SETTINGS` in config.ts. */
export const signInSettings = {
  PASSKEY_DOMAIN: {
    summary:
      'Domain of passkeys: the host of PUBLIC_URL, or a parent domain that it shares with the pages of CORS_ORIGINS. Changing it makes all passkeys useless',
    fallback: 'the host of PUBLIC_URL',
    parse: optional(domainName),
  },
  GOOGLE_CLIENT_ID: { summary: 'Client ID for sign-in with Google', fallback: 'off', parse: optional(text) },
  GOOGLE_CLIENT_SECRET: {
    summary: 'Client secret for sign-in with Google',
    fallback: 'none',
    secret: true,
    parse: optional(text),
  },
  MICROSOFT_CLIENT_ID: { summary: 'Client ID for sign-in with Microsoft', fallback: 'off', parse: optional(text) },
  MICROSOFT_CLIENT_SECRET: {
    summary: 'Client secret for sign-in with Microsoft',
    fallback: 'none',
    secret: true,
    parse: optional(text),
  },
  MICROSOFT_TENANT: { summary: 'Microsoft tenant for sign-in', fallback: 'common', parse: withDefault(text, 'common') },
  APPLE_CLIENT_ID: { summary: 'Client ID (service ID) for sign-in with Apple', fallback: 'off', parse: optional(text) },
  APPLE_CLIENT_SECRET: {
    summary: 'Client secret (a JWT) for sign-in with Apple',
    fallback: 'none',
    secret: true,
    parse: optional(text),
  },
  GITHUB_CLIENT_ID: { summary: 'Client ID for sign-in with GitHub', fallback: 'off', parse: optional(text) },
  GITHUB_CLIENT_SECRET: {
    summary: 'Client secret for sign-in with GitHub',
    fallback: 'none',
    secret: true,
    parse: optional(text),
  },
  GITHUB_URL: {
    summary: 'URL of a GitHub Enterprise server',
    fallback: 'https://github.com',
    parse: withDefault(url('https', 'http'), 'https://github.com'),
  },
  OIDC_ISSUERS: {
    summary: 'More OpenID Connect issuers, as JSON',
    fallback: '[]',
    secret: true,
    parse: withDefault(issuers, [] as readonly OidcIssuer[]),
  },
} as const
