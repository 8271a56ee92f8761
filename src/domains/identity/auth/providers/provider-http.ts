const TIMEOUT_MS = 5_000
const MOST_BYTES = 1_000_000

/** What a provider answered, with its JSON. */
export interface ProviderAnswer {
  readonly status: number
  readonly body: unknown
}

/** A provider that could not be asked, or whose answer cannot be read. */
export class ProviderHttpError extends Error {
  override readonly name = 'ProviderHttpError'
}

/**
 * Asks a provider for JSON: within five seconds, at most a megabyte, following no redirect.
 * @throws ProviderHttpError
 */
export async function askProvider(url: string, init: RequestInit = {}): Promise<ProviderAnswer> {
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
    if (size > MOST_BYTES) throw new Error(`the answer is larger than ${MOST_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** An error page in HTML says no more than its status. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
