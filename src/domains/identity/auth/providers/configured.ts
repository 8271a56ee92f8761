import type { JWTPayload } from 'jose'
import type { Config } from '../../../../config/config.ts'
import type { Clock } from '../../../../core/clock.ts'
import { GitHubProvider } from './github.ts'
import { emailVerified, OpenIdProvider, type OpenIdOptions } from './openid-provider.ts'
import type { SignInProvider } from './provider.ts'

const MICROSOFT = 'https://login.microsoftonline.com'
/** The tenant of personal Microsoft accounts, whose addresses Microsoft has verified. */
const MICROSOFT_PERSONAL = '9188040d-6c67-4c5b-b112-36a304b66dad'
const SHARED_TENANTS = ['common', 'organizations', 'consumers']

/** The configured providers, by their name in the path. */
export function configuredProviders(config: Config, clock: Clock): ReadonlyMap<string, SignInProvider> {
  const providers = new Map<string, SignInProvider>()
  const openId = (name: string, options: OpenIdOptions) => providers.set(name, new OpenIdProvider(options, clock))
  for (const { name, issuer, clientId, clientSecret } of config.OIDC_ISSUERS) {
    openId(name, { label: name, issuer, clientId, clientSecret })
  }
  if (config.GOOGLE_CLIENT_ID) openId('google', googleOptions(config.GOOGLE_CLIENT_ID, config.GOOGLE_CLIENT_SECRET))
  if (config.APPLE_CLIENT_ID) {
    const { APPLE_CLIENT_ID: clientId, APPLE_CLIENT_SECRET: clientSecret } = config
    openId('apple', { label: 'Apple', issuer: 'https://appleid.apple.com', clientId, clientSecret })
  }
  if (config.MICROSOFT_CLIENT_ID) {
    const { MICROSOFT_CLIENT_ID: clientId, MICROSOFT_CLIENT_SECRET: clientSecret } = config
    openId('microsoft', microsoftOptions(config.MICROSOFT_TENANT, clientId, clientSecret))
  }
  if (config.GITHUB_CLIENT_ID) {
    const { GITHUB_CLIENT_ID: clientId, GITHUB_CLIENT_SECRET: clientSecret, GITHUB_URL: url } = config
    providers.set('github', new GitHubProvider(url, clientId, clientSecret))
  }
  return providers
}

function googleOptions(clientId: string, clientSecret: string | undefined): OpenIdOptions {
  const issuer = 'https://accounts.google.com'
  // Google documents both forms of `iss`.
  const isIssuer = ({ iss }: JWTPayload) => iss === issuer || iss === 'accounts.google.com'
  return { label: 'Google', issuer, clientId, clientSecret, isIssuer }
}

/**
 * Each Microsoft tenant is an issuer with its own URL; the metadata of shared tenants contains `{tenantid}`. The address
 * of a work account is whatever its administrator entered, so it counts as verified only if Microsoft says that the
 * domain is verified (`xms_edov`) or if the account is a personal one.
 * @param base Microsoft's host; tests use another
 */
export function microsoftOptions(
  tenant: string,
  clientId: string,
  clientSecret: string | undefined,
  base = MICROSOFT,
): OpenIdOptions {
  const shared = SHARED_TENANTS.includes(tenant)
  return {
    label: 'Microsoft',
    issuer: `${base}/${tenant}/v2.0`,
    clientId,
    clientSecret,
    ...(shared
      ? {
          publishedIssuer: `${base}/${tenant === 'consumers' ? MICROSOFT_PERSONAL : '{tenantid}'}/v2.0`,
          isIssuer: ({ iss, tid }: JWTPayload & { tid?: unknown }) =>
            typeof tid === 'string' &&
            /^[0-9a-f-]{36}$/.test(tid) &&
            iss === `${base}/${tid}/v2.0` &&
            (tenant !== 'consumers' || tid === MICROSOFT_PERSONAL) &&
            (tenant !== 'organizations' || tid !== MICROSOFT_PERSONAL),
        }
      : {}),
    vouchesForEmail: (claims) =>
      emailVerified(claims) ||
      claims['tid'] === MICROSOFT_PERSONAL ||
      [true, 1, '1', 'true'].includes(claims['xms_edov'] as boolean),
  }
}
