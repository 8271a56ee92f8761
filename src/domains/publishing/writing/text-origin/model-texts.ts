import type { PlanningScope, PostTextOriginData } from '../../posts/index.ts'

/**
 * The texts that models wrote for a workspace, as posts see them. The domain of AI provides them, because posts cannot
 * import that domain.
 */
export interface ModelTexts {
  /** The AI jobs and models that wrote one of these texts, or a part of it. Undefined if none did. */
  find(
    scope: PlanningScope,
    texts: readonly string[],
  ): Promise<Pick<PostTextOriginData, 'aiJobIds' | 'models'> | undefined>
}
