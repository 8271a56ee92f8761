import { ValidationFailed } from '../../../../core/errors.ts'
import { fetchJson, ProviderHttpError, type ProviderResponse } from './provider-http.ts'
import {
  codeOf,
  refuse,
  unavailable,
  type ProvenIdentity,
  type ProviderProof,
  type SignInProvider,
} from './provider.ts'

interface EmailRow {
  readonly email: string
  readonly primary: boolean
  readonly verified: boolean
}

/**
 * Sign-in with GitHub, which is OAuth 2.0 without ID tokens: the code is exchanged for an access token, which is used
 * to read who it belongs to and then dropped. See "Authorizing OAuth apps" in GitHub's documentation.
 */
export class GitHubProvider implements SignInProvider {
  readonly label = 'GitHub'
  readonly #url: string
  readonly #api: string
  readonly #clientId: string
  readonly #clientSecret: string | undefined

  /** @param url `https://github.com`, or the URL of a GitHub Enterprise Server */
  constructor(url: string, clientId: string, clientSecret: string | undefined) {
    this.#url = url.replace(/\/$/, '')
    this.#api = this.#url === 'https://github.com' ? 'https://api.github.com' : `${this.#url}/api/v3`
    this.#clientId = clientId
    this.#clientSecret = clientSecret
  }

  async prove(proof: ProviderProof): Promise<ProvenIdentity> {
    if (proof.idToken !== undefined) {
      const errors = [
        { path: '/body/idToken', code: 'unsupported', message: 'is not supported for GitHub; send `code` instead' },
      ]
      throw ValidationFailed({
        message: 'GitHub does not issue ID tokens. Send `code`, `codeVerifier` and `redirectUri`.',
        errors,
      })
    }
    try {
      return await this.#identify(await this.#exchange(proof))
    } catch (error) {
      if (error instanceof ProviderHttpError) return unavailable(this.label, error)
      throw error
    }
  }

  async #exchange(proof: ProviderProof): Promise<string> {
    const { code, codeVerifier, redirectUri } = codeOf(proof)
    const [clientId, clientSecret] = [this.#clientId, this.#clientSecret]
    const { status, body } = await fetchJson(`${this.#url}/login/oauth/access_token`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        client_id: clientId,
        ...(clientSecret === undefined ? {} : { client_secret: clientSecret }),
        code,
        code_verifier: codeVerifier,
        redirect_uri: redirectUri,
      }).toString(),
    })
    // Refusals have status 200 too.
    const reply = (body ?? {}) as { access_token?: unknown; error?: string }
    if (typeof reply.access_token === 'string') return reply.access_token
    if (reply.error === 'bad_verification_code' || reply.error === 'redirect_uri_mismatch') {
      return refuse(`GitHub did not accept the code (${reply.error})`)
    }
    throw new ProviderHttpError(`GitHub answered ${status} ${reply.error ?? ''} to a code`)
  }

  async #identify(accessToken: string): Promise<ProvenIdentity> {
    const [user, emails] = await Promise.all([
      this.#read('/user', accessToken),
      this.#read('/user/emails', accessToken),
    ])
    const { id, login, name } = (user.body ?? {}) as { id?: number; login?: string; name?: string | null }
    if (user.status !== 200 || typeof id !== 'number')
      throw new ProviderHttpError(`GitHub answered ${user.status} to /user`)
    // Without the scope user:email this is 403 or 404, and there is no address.
    const rows = emails.status === 200 && Array.isArray(emails.body) ? (emails.body as EmailRow[]) : []
    const primary = rows.find((row) => row.primary)
    return {
      issuer: this.#url,
      subject: String(id),
      email: primary?.email,
      emailVerified: primary?.verified === true,
      name: name ?? login,
      singleUse: undefined,
    }
  }

  async #read(path: string, accessToken: string): Promise<ProviderResponse> {
    const reply = await fetchJson(this.#api + path, {
      headers: {
        Accept: 'application/vnd.github+json',
        Authorization: `Bearer ${accessToken}`,
        'X-GitHub-Api-Version': '2022-11-28',
      },
    })
    if (reply.status === 429 || reply.status >= 500)
      throw new ProviderHttpError(`GitHub answered ${reply.status} to ${path}`)
    return reply
  }
}
