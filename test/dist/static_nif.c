/* An app that has the NIF linked into it, as a VM on iOS has. */
extern const void *ex_burn_nif_nif_init(void);

int main(int count, char **arguments) {
    (void)arguments;
    /* Only named, since calling it takes a VM; `count` keeps it from being left out. */
    const void *(*init)(void) = count > 0 ? ex_burn_nif_nif_init : 0;
    return init == 0;
}
