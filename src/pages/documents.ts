import { errorTable } from '../core/error.ts'
import { openApiDocument } from '../core/openapi.ts'
import type { EventType } from '../core/event.ts'
import type { NamedOperation } from '../core/operation.ts'
import type { TSchema } from '../core/schema.ts'
import { docPage, once } from '../http/doc-page.ts'
import { guidePage } from './guide-page.ts'
import { statesPage } from './states-page.ts'
import { DocsScript } from './docs-script.ts'
import { errorPage } from '../http/error-page.ts'
import { pipelineErrors } from '../http/declared-errors.ts'
import { recordedExamples } from './recorded-examples.ts'
import { GUARDED, page } from '../http/page.ts'
import type { Page, PageContent } from '../http/server.ts'

export interface DocumentOptions {
  readonly version: string
  /** Descriptions of the domains. */
  readonly domains: Readonly<Record<string, string>>
  /** Events that webhooks send. */
  readonly events: readonly EventType[]
}

const DESCRIPTION = `
One server to publish to social networks, to stream live to many platforms at once, and to work together as a team.

**New here?** [Getting started](/docs/getting-started) goes from sign-up to a stream, an uploaded file and live events.
**You run the server?** [Running Crier](/docs/operations): backup, restore, upgrade, rollback. [Crier behind a proxy](/docs/proxies): nginx, HAProxy.

**Credentials.** Send \`Authorization: Bearer <access token>\` (from log-in; valid for 15 minutes) or \`X-API-Key: <key>\`. An API
key works as a bearer token, too. An unknown, expired or revoked credential gets 401, even for operations that need none.

**Changes.** PUT and PATCH change only the fields in the body. Read-only fields of the resource are ignored, so that a client can
edit and send back what GET returned. Other unknown fields are refused.

**Replies** are \`{ "status": true, "message", "data" }\`. Lists add \`pagination\`: send its \`nextCursor\` as \`cursor\` to get the next
page. **Filters** of lists take several values, repeated (\`?status=failed&status=missed\`) or with commas
(\`?status=failed,missed\`). Other parameters must not be repeated. **Errors** are \`{ "status": false, "message", "code", "requestId", "docUrl", "errors"? }\`, or an RFC 9457 problem with
\`Accept: application/problem+json\`. [All codes, with cause and fix](/docs/errors). [What each \`status\` means](/docs/states).

**Sockets.** Events, chat and calls of operations: [how they work](/docs/sockets), [AsyncAPI](/api/asyncapi.json).

**Retries.** Send an \`Idempotency-Key\` with a POST. The first reply is stored for 24 hours and repeated with
\`Idempotent-Replayed: true\`. **Concurrent changes.** Send the \`ETag\` that you read as \`If-Match\`. The reply is 412 if the
resource has changed since. **Rate limits** are given by \`RateLimit\` and \`RateLimit-Policy\`. Beyond them, the reply is 429 with \`Retry-After\`.

Ids are UUIDs (version 7), times ISO 8601 in UTC, durations seconds, sizes bytes. Unknown fields are refused.
`.trim()

/** The OpenAPI document as text. The output is deterministic. */
export function openApiText(operations: readonly NamedOperation[], options: DocumentOptions): string {
  const document = openApiDocument(operations, {
    title: 'Crier',
    version: options.version,
    description: DESCRIPTION,
    domains: options.domains,
    events: options.events,
    examples: recordedExamples(),
    pipelineErrors,
  })
  return `${JSON.stringify(document, null, 2)}\n`
}

const DOCS_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Crier API</title>
<link rel="icon" href="data:,">
</head>
<body>
<div id="reference"></div>
<noscript>The interactive documentation needs scripts; the same is in <a href="/api/openapi.json">openapi.json</a>.</noscript>
<script src="/docs/scalar.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`

/** Disables all features of Scalar that would contact other hosts. */
const START_SCRIPT = `Scalar.createApiReference('#reference', ${JSON.stringify({
  url: '/api/openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true, hideAddApi: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  documentDownloadType: 'direct',
  showOperationId: true,
  modelsSectionLabel: 'Schemas',
  externalUrls: { dashboardUrl: '', registryUrl: '', proxyUrl: '', apiBaseUrl: '' },
})})
`

/** Redirects the root path to the documentation. */
const START: PageContent = {
  status: 302,
  contentType: 'text/plain; charset=utf-8',
  content: 'The documentation is at /docs.\n',
  headers: { Location: '/docs' },
}

/** The pages that describe the API. */
export function documentPages(operations: readonly NamedOperation[], options: DocumentOptions): Page[] {
  const { events } = options
  const script = new DocsScript()
  const description = once(() => page('application/json', openApiText(operations, options)))
  const errors = once(() => docPage(errorPage(errorTable())))
  const states = once(() => {
    const replies = operations.flatMap(({ returns }) => Object.values(returns)) as TSchema[]
    return docPage(statesPage([...replies, ...events.map(({ data }) => data)]))
  })
  const docs = page('text/html; charset=utf-8', DOCS_PAGE, GUARDED)
  const start = page('text/javascript; charset=utf-8', START_SCRIPT)
  return [
    { path: '/', serve: () => START },
    { path: '/docs', serve: () => docs },
    { path: '/docs/errors', serve: errors },
    { path: '/docs/states', serve: states },
    { path: '/docs/getting-started', serve: once(() => docPage(guidePage('getting-started.md'))) },
    { path: '/docs/operations', serve: once(() => docPage(guidePage('operations.md'))) },
    { path: '/docs/proxies', serve: once(() => docPage(guidePage('proxies.md'))) },
    { path: '/docs/start.js', serve: () => start },
    {
      path: '/docs/scalar.js',
      // Only browsers load the script, and every browser accepts gzip.
      serve: async () =>
        page('text/javascript; charset=utf-8', await script.compressed(), { 'Content-Encoding': 'gzip' }),
    },
    { path: '/api/openapi.json', serve: description },
  ]
}
