import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export const GITHUB_CLIENT = { id: 'Iv1.crier', secret: 'github-client-secret' }

export interface GitHubAccount {
  readonly id: number
  readonly login: string
  readonly name: string | null
  readonly emails: readonly { readonly email: string; readonly primary: boolean; readonly verified: boolean }[]
}

/**
 * GitHub's OAuth app flow as documented ("Authorizing OAuth apps", REST "users" and "emails"). Codes work once, for ten
 * minutes, with the client, redirect URI and PKCE challenge of their request. Rejections have status 200. The API
 * requires a User-Agent.
 */
export interface FakeGitHub {
  readonly url: string
  /** Authorizes the app as this account. @returns what GitHub passes to the front end */
  authorize(account: GitHubAccount, scope?: string): { code: string; codeVerifier: string; redirectUri: string }
  close(): Promise<void>
}

interface Grant {
  readonly account: GitHubAccount
  readonly challenge: string
  readonly redirectUri: string
  readonly scope: string
}

export async function startGitHub(): Promise<FakeGitHub> {
  const codes = new Map<string, Grant>()
  const tokens = new Map<string, Grant>()
  const reply = (response: ServerResponse, status: number, body: unknown) =>
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))

  const exchange = (form: URLSearchParams) => {
    if (form.get('client_id') !== GITHUB_CLIENT.id || form.get('client_secret') !== GITHUB_CLIENT.secret) {
      return { error: 'incorrect_client_credentials' }
    }
    const code = form.get('code') ?? ''
    const grant = codes.get(code)
    const verifier = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (grant === undefined || grant.challenge !== verifier) return { error: 'bad_verification_code' }
    if (form.get('redirect_uri') !== grant.redirectUri) return { error: 'redirect_uri_mismatch' }
    codes.delete(code)
    const token = `gho_${randomBytes(18).toString('hex')}`
    tokens.set(token, grant)
    return { access_token: token, token_type: 'bearer', scope: grant.scope }
  }

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const path = `${request.method} ${request.url}`
    if (!request.headers['user-agent']) return reply(response, 403, { message: 'a User-Agent is required' })
    if (path === 'POST /login/oauth/access_token') {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      return reply(response, 200, exchange(new URLSearchParams(Buffer.concat(chunks).toString())))
    }
    const grant = tokens.get(/^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '')
    if (grant === undefined) return reply(response, 401, { message: 'Bad credentials' })
    if (path === 'GET /api/v3/user') {
      const { id, login, name } = grant.account
      // The public address, which can differ from the primary one.
      return reply(response, 200, { id, login, name, email: 'public@example.org' })
    }
    if (path === 'GET /api/v3/user/emails' && grant.scope.includes('user:email')) {
      return reply(response, 200, grant.account.emails)
    }
    return reply(response, 404, { message: 'Not Found' })
  }

  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    authorize: (account, scope = 'read:user,user:email') => {
      const code = randomBytes(10).toString('hex')
      const codeVerifier = randomBytes(32).toString('base64url')
      const challenge = createHash('sha256').update(codeVerifier).digest('base64url')
      const redirectUri = 'http://localhost:7777/github'
      codes.set(code, { account, challenge, redirectUri, scope })
      return { code, codeVerifier, redirectUri }
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
