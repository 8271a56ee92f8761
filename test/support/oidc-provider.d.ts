/** The part of oidc-provider's API that openid-issuer.ts uses; the package has no types. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  interface Grant {
    addOIDCScope(scope: string): void
    save(): Promise<string>
  }
  interface Context {
    readonly oidc: {
      readonly client: { readonly clientId: string }
      readonly session: { readonly accountId: string }
      readonly provider: { readonly Grant: new (of: { clientId: string; accountId: string }) => Grant }
    }
  }
  export interface Configuration {
    readonly jwks: { readonly keys: readonly object[] }
    readonly clients: readonly object[]
    readonly claims: Readonly<Record<string, readonly string[]>>
    readonly responseTypes: readonly string[]
    readonly features: Readonly<Record<string, { readonly enabled: boolean }>>
    readonly ttl: Readonly<Record<string, number>>
    readonly cookies: { readonly keys: readonly string[] }
    readonly interactions: { readonly url: (context: Context, interaction: { readonly uid: string }) => string }
    readonly findAccount: (context: Context, sub: string) => { accountId: string; claims: () => object } | undefined
    readonly loadExistingGrant: (context: Context) => Promise<Grant>
  }
  export class Provider {
    constructor(issuer: string, configuration: Configuration)
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>
    interactionDetails(
      request: IncomingMessage,
      response: ServerResponse,
    ): Promise<{ readonly params: Readonly<Record<string, unknown>> }>
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>
  }
}
