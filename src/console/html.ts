// The one door to Preact and htm: what pages and parts are made of.
import htm from "htm";
import { h, render, type ComponentChildren, type VNode } from "preact";
import {
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "preact/hooks";

/** Markup as a tagged template. Values become text nodes and properties, never markup. */
export const html = htm.bind(h) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode;
/** Text of the control that sent the event. */
export const readInputValue = (event: Event): string => (event.target as HTMLInputElement).value;
export type Children = ComponentChildren;
export type { VNode };
export { render, useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState };
