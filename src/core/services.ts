/**
 * What a handler may call. Each domain adds its own services to this interface, beside the service itself:
 *
 *     declare module '../core/services.ts' { interface Services { streams: StreamService } }
 *
 * and `src/server/compose.ts` builds them, once, with plain constructors.
 */
// oxlint-disable-next-line typescript/no-empty-interface, typescript/no-empty-object-type -- domains fill it
export interface Services {}
