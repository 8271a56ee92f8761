import { parseForeignJson } from '../../../../tools/clean-text.ts'

const TIMEOUT_MS = 5_000
const MAX_BYTES = 1_000_000

/** The status of a provider's response, and its body parsed as JSON. */
export interface ProviderResponse {
  readonly status: number
  readonly body: unknown
}

/** A provider could not be reached, or its response could not be read. */
export class ProviderHttpError extends Error {
  override readonly name = 'ProviderHttpError'
}

/**
 * Requests JSON from a provider. Limited to five seconds and a megabyte. Redirects are not followed.
 * @throws ProviderHttpError
 */
export async function fetchJson(url: string, init: RequestInit = {}): Promise<ProviderResponse> {
  const { origin, pathname } = new URL(url)
  try {
    const response = await fetch(url, {
      ...init,
      headers: { Accept: 'application/json', 'User-Agent': 'crier', ...(init.headers as Record<string, string>) },
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    return { status: response.status, body: parse(await readSome(response)) }
  } catch (error) {
    throw new ProviderHttpError(`${origin}${pathname}: ${(error as Error).message}`, { cause: error })
  }
}

async function readSome(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > MAX_BYTES) throw new Error(`the response is larger than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Undefined for a body that is not JSON, such as an HTML error page. */
function parse(text: string): unknown {
  try {
    return parseForeignJson(text)
  } catch {
    return undefined
  }
}
