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
  /** What each domain is about. */
  readonly domains: Readonly<Record<string, string>>
}

const DESCRIPTION = `
One server to publish to social networks, to go live everywhere at once, and to work together while doing it.

**New here?** [Getting started](/docs/getting-started) goes from sign-up to a stream, an uploaded file and live events.
**You run the server?** [Running Crier](/docs/operations): backup, restore, upgrade, rollback.

**Credentials.** Send \`Authorization: Bearer <access token>\` (from log-in; 15 minutes) or \`X-API-Key: <key>\`. An
unknown, expired or revoked credential is 401, also where none is needed.

**Editing:** a PUT or PATCH changes the fields that it names; the others keep their values. Fields of the resource that cannot
be changed are ignored, so that what GET gave can be edited and sent back; any other unknown field is refused.

**Replies** are \`{ "status": true, "message", "data" }\`; lists add \`pagination\` with \`nextCursor\`, to be sent back
as \`cursor\`. **Errors** are \`{ "status": false, "message", "code", "requestId", "docUrl", "errors"? }\`, or an RFC 9457
problem where \`Accept: application/problem+json\` asks for one. [All codes, with cause and fix](/docs/errors). [What each \`status\` means](/docs/states).

**Live.** Events, chat and calls over sockets: [how they work](/docs/sockets), [AsyncAPI](/api/asyncapi.json).

**Repeating safely.** Send an \`Idempotency-Key\` with a POST: the first answer is kept 24 hours and repeated with
\`Idempotent-Replayed: true\`. **Editing safely.** Send the \`ETag\` that you read as \`If-Match\`: 412 says that somebody
was faster. **Limits** are told by \`RateLimit\` and \`RateLimit-Policy\`; past them 429 with \`Retry-After\`.

Ids are UUIDs (version 7), times ISO 8601 in UTC, durations seconds, sizes bytes. Unknown fields are refused.
`.trim()

/** The OpenAPI description as text, the same for the same operations. */
export function openApiText(operations: readonly NamedOperation[], options: DocumentOptions): string {
  const document = openApiDocument(operations, {
    title: 'Crier',
    version: options.version,
    description: DESCRIPTION,
    domains: options.domains,
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

/** Everything of Scalar's that would reach for another host is off. */
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

/** Whoever opens the bare address gets to the documentation. */
const START: PageContent = {
  status: 302,
  contentType: 'text/plain; charset=utf-8',
  content: 'The documentation is at /docs.\n',
  headers: { Location: '/docs' },
}

/** The pages that describe the API. */
export function documentPages(
  operations: readonly NamedOperation[],
  events: readonly EventType[],
  options: DocumentOptions,
): Page[] {
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
    { path: '/docs/start.js', serve: () => start },
    {
      path: '/docs/scalar.js',
      // Whoever runs it is a browser, and every browser takes gzip.
      serve: async () =>
        page('text/javascript; charset=utf-8', await script.compressed(), { 'Content-Encoding': 'gzip' }),
    },
    { path: '/api/openapi.json', serve: description },
  ]
}
