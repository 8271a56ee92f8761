import { callGraph, type GraphApi, type GraphContext, type GraphOptions } from '../meta/graph.ts'

export const TITLE = 'Instagram'

/** The version was released in October 2025. */
export const API: GraphApi = { title: TITLE, version: 'v24.0', proof: false }

/** Calls the Graph API as the account of the credential. @throws PlatformError */
export function call(context: GraphContext, path: string, options?: GraphOptions): Promise<unknown> {
  return callGraph(API, context, path, options)
}
