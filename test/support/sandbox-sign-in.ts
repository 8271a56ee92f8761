import type { App } from './app.ts'

export interface SandboxSignIn {
  readonly apiKey: string
  readonly workspaceId: string
  readonly platform: string
  /** The name of the account on the consent page. */
  readonly account?: string
  readonly query?: Readonly<Record<string, string>>
}

/** Requests a sign-in link and allows access on the consent page. @returns where the platform sends the browser */
export async function consentAtSandbox(app: App, options: SandboxSignIn): Promise<{ url: URL; cookie: string }> {
  const { account = 'sandbox', apiKey, platform, query = {}, workspaceId } = options
  const instance = app.node.resources.config.PLATFORMS[platform]?.apiUrl ?? ''
  const begun = await app.send('GET /api/social-accounts/oauth/{platform}/url', {
    apiKey,
    path: { platform },
    query: { workspaceId, instance, ...query },
  })
  if (begun.status !== 200) throw new Error(`no sign-in link: ${begun.text}`)
  const consent = new URL(begun.body.data.url as string)
  const body = new URLSearchParams([...(await fieldsOf(consent)), ['account', account], ['decision', 'allow']])
  const decided = await fetch(`${consent.origin}${consent.pathname}`, { method: 'POST', body, redirect: 'manual' })
  const cookie = (begun.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  return { url: new URL(decided.headers.get('location') ?? ''), cookie }
}

/** Signs in as a browser does. @returns the result page */
export async function signInAtSandbox(app: App, options: SandboxSignIn): Promise<Response> {
  const { cookie, url } = await consentAtSandbox(app, options)
  return fetch(url, { headers: { cookie }, redirect: 'manual' })
}
/** Connects an account by signing in. @returns its id */
export async function connectAtSandbox(app: App, options: SandboxSignIn): Promise<string> {
  const redirectUri = `${new URL(app.config.PUBLIC_URL).origin}/done`
  const reply = await signInAtSandbox(app, { ...options, query: { ...options.query, redirectUri } })
  const id = URL.parse(reply.headers.get('location') ?? '')?.searchParams.get('account')
  if (id === null || id === undefined) throw new Error(`not connected: ${reply.headers.get('location')}`)
  return id
}

/** The hidden fields of a consent page. */
async function fieldsOf(consent: URL): Promise<[string, string][]> {
  const page = await (await fetch(consent)).text()
  const fields = page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)
  return [...fields].map(([, name = '', value = '']) => [name, value.replaceAll('&amp;', '&')])
}
